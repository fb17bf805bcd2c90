// The wire format of Protocol Buffers, as far as our messages need it: fields read one by one as
// views, and messages written in order.
//
// Source: "Encoding" of the Protocol Buffers documentation. Thread rule: plain values.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace suimon::door::wire {

enum class Type : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  Type type = Type::varint;
  std::uint64_t value = 0;  // of the number types
  std::string_view bytes;   // of bytes: a view into the message
};

// Reads the fields of one message in their order.
class Reader {
 public:
  explicit Reader(std::string_view message) : rest_(message) {}

  // False at the end of the message, and where it is broken; good() tells which.
  bool next(Field& field) {
    if (rest_.empty() || !good_) return false;
    good_ = read(field);
    return good_;
  }
  bool good() const { return good_; }

 private:
  bool read(Field& field) {
    std::uint64_t tag = 0;
    if (!varint(tag, 5)) return false;
    // A tag has 32 bits; what stands above them counts for nothing, as in everybody's readers.
    field.number = static_cast<std::uint32_t>(tag) >> 3;
    if (field.number == 0) return false;
    field.type = static_cast<Type>(tag & 7);
    switch (field.type) {
      case Type::varint:
        return varint(field.value, 10);
      case Type::fixed64:
        return fixed(8, field.value);
      case Type::fixed32:
        return fixed(4, field.value);
      case Type::bytes: {
        std::uint64_t size = 0;
        if (!varint(size, 5) || size > rest_.size()) return false;
        field.bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return true;
      }
    }
    return false;  // groups went out of use before gRPC was there
  }

  bool varint(std::uint64_t& value, unsigned most_bytes) {
    value = 0;
    for (unsigned i = 0; i < most_bytes && i < rest_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(rest_[i]);
      value |= std::uint64_t{byte & 0x7fU} << (7 * i);
      if (byte < 0x80) {
        rest_.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }

  bool fixed(unsigned size, std::uint64_t& value) {
    if (rest_.size() < size) return false;
    value = 0;
    for (unsigned i = 0; i < size; ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    }
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
  bool good_ = true;
};

inline void append_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

inline std::size_t varint_size(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

inline void append_tag(std::uint32_t number, Type type, std::string& out) {
  append_varint(number << 3 | static_cast<std::uint32_t>(type), out);
}

// A number; zero is what a field that is not there means.
inline void append_number(std::uint32_t number, std::uint64_t value, std::string& out) {
  if (value == 0) return;
  append_tag(number, Type::varint, out);
  append_varint(value, out);
}

// Text or a message that is there, if only empty.
inline void append_bytes(std::uint32_t number, std::string_view bytes, std::string& out) {
  append_tag(number, Type::bytes, out);
  append_varint(bytes.size(), out);
  out += bytes;
}

// A message whose size is known only once it is written. Begin, append its fields, end.
class Nested {
 public:
  Nested(std::uint32_t number, std::string& out) : out_(out) {
    append_tag(number, Type::bytes, out);
    out.push_back(0);
    begin_ = out.size();
  }
  void end() {
    const std::size_t size = out_.size() - begin_;
    const std::size_t more = varint_size(size) - 1;
    if (more > 0) out_.insert(begin_, more, '\0');
    for (std::size_t i = 0, left = size; i <= more; ++i, left >>= 7) {
      out_[begin_ - 1 + i] = static_cast<char>((left & 0x7f) | (i < more ? 0x80 : 0));
    }
  }

 private:
  std::string& out_;
  std::size_t begin_;
};

}  // namespace suimon::door::wire
