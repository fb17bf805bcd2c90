#include "suimon/door/grpc/call.h"

#include "suimon/base/text.h"

namespace suimon::door {

std::optional<Duration> parse_grpc_timeout(std::string_view text) {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  const auto count = parse_number<std::int64_t>(text.substr(0, text.size() - 1));
  if (!count) return std::nullopt;
  switch (text.back()) {
    case 'H':  // at most 11,415 years, so cut to what Duration holds
      return std::chrono::hours(*count < 2'000'000 ? *count : 2'000'000);
    case 'M':
      return std::chrono::minutes(*count);
    case 'S':
      return std::chrono::seconds(*count);
    case 'm':
      return std::chrono::milliseconds(*count);
    case 'u':
      return std::chrono::microseconds(*count);
    case 'n':
      return Duration(*count);
    default:
      return std::nullopt;
  }
}

bool is_grpc(std::string_view content_type) {
  constexpr std::string_view kType = "application/grpc";
  if (!content_type.starts_with(kType)) return false;
  content_type.remove_prefix(kType.size());
  return content_type.empty() || content_type.front() == ';' || content_type.starts_with("+proto");
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '%') {
      encoded.push_back(c);
    } else {
      encoded.push_back('%');
      encoded.push_back(kHex[byte >> 4]);
      encoded.push_back(kHex[byte & 15]);
    }
  }
  return encoded;
}

MessagePrefix read_prefix(std::string_view bytes) {
  MessagePrefix prefix;
  prefix.compressed = bytes[0] != 0;
  for (std::size_t i = 1; i < MessagePrefix::kSize; ++i) {
    prefix.size = prefix.size << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return prefix;
}

void append_prefix(std::size_t size, std::string& out) {
  out.push_back(0);
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(size >> shift));
}

}  // namespace suimon::door
