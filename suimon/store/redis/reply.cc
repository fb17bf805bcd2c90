#include "suimon/store/redis/reply.h"

#include "suimon/base/text.h"

namespace suimon::redis {
namespace {

constexpr std::string_view kEnd = "\r\n";
constexpr std::size_t kSmall = 4096;  // values, and bytes times 16, that are kept for the next one

bool is_string(char type) { return type == '$' || type == '!' || type == '='; }
bool is_array(char type) { return type == '*' || type == '~' || type == '>'; }
bool is_map(char type) { return type == '%' || type == '|'; }
// A value that ends with its line.
bool is_line(char type) { return std::string_view("+-:_#,(").find(type) != std::string_view::npos; }

}  // namespace

void ReplyReader::reset() { *this = ReplyReader(); }

void ReplyReader::feed(std::string_view bytes) {
  if (begin_ == bytes_.size()) {
    bytes_.clear();
    if (bytes_.capacity() > kSmall * 16) bytes_.shrink_to_fit();
  } else if (begin_ > bytes_.size() - begin_) {
    bytes_.erase(0, begin_);
  } else {
    bytes_.append(bytes);
    return;
  }
  at_ -= begin_;
  searched_ = searched_ > begin_ ? searched_ - begin_ : 0;
  begin_ = 0;
  bytes_.append(bytes);
}

bool ReplyReader::bad(std::string_view mistake) {
  mistake_ = mistake;
  return false;
}

ReplyReader::Found ReplyReader::next() {
  if (!mistake_.empty()) return Found::garbage;
  if (!scan()) return mistake_.empty() ? Found::nothing : Found::garbage;
  if (values_.size() > kSmall && announced_ <= kSmall) std::vector<Value>(1).swap(values_);
  if (values_.size() < announced_) values_.resize(announced_);
  const std::size_t end = at_;
  at_ = begin_;
  used_ = 1;
  push_ = bytes_[begin_] == '>';
  build(values_.front());
  begin_ = at_ = searched_ = end;
  announced_ = 1;
  return push_ ? Found::push : Found::answer;
}

// Finds the end of the answer: true when all of it is there, and right.
bool ReplyReader::scan() {
  for (;;) {
    if (at_ - begin_ > kMostBytes) return bad("an answer of more than 8 MiB");
    if (body_ > 0) {
      if (bytes_.size() - at_ < body_) return false;
      at_ += body_;
      if (std::string_view(bytes_).substr(at_ - 2, 2) != kEnd) {
        return bad("a string that is longer than it said");
      }
      body_ = 0;
    } else {
      if (at_ == bytes_.size()) return false;
      if (searched_ < at_) searched_ = at_;
      const std::size_t end = bytes_.find('\n', searched_);
      const std::size_t length = (end == std::string::npos ? bytes_.size() : end) - at_;
      if (length > kMostLine) return bad("a line of more than 16 KiB");
      if (end == std::string::npos) {
        searched_ = bytes_.size();
        return false;
      }
      if (length < 2 || bytes_[end - 1] != '\r') return bad("a line that is no RESP");
      const std::string_view line = std::string_view(bytes_).substr(at_, length - 1);
      at_ = end + 1;
      const std::size_t depth = depth_;
      if (!scan_one(line)) return false;
      if (body_ > 0 || depth_ > depth) continue;
    }
    // A value is complete, and with it perhaps those that it is in.
    for (;;) {
      if (depth_ == 0) return true;
      Frame& frame = frames_[depth_ - 1];
      if (--frame.left > 0) break;
      --depth_;
      if (frame.attribute) break;  // what it is about comes now, and counts where it stands
    }
  }
}

bool ReplyReader::open(std::size_t count, bool attribute) {
  announced_ += count;
  if (announced_ > kMostValues) return bad("an answer of more than 262144 values");
  if (depth_ == kMostNesting) return bad("arrays that are nested more than 8 deep");
  frames_[depth_++] = {.left = count, .attribute = attribute};
  return true;
}

// One line that begins a value.
bool ReplyReader::scan_one(std::string_view line) {
  const char type = line.front();
  const std::string_view rest = line.substr(1);
  if (is_line(type)) {
    if (type == ':' && !parse_number<std::int64_t>(rest.starts_with('+') ? rest.substr(1) : rest)) {
      return bad("a number that is none");
    }
    if (type == '#' && rest != "t" && rest != "f") return bad("a boolean that is neither t nor f");
    if (type == '_' && !rest.empty()) return bad("a null that is something");
    return true;
  }
  if (!is_string(type) && !is_array(type) && !is_map(type)) return bad("no type of RESP");
  if ((type == '$' || type == '*') && rest == "-1") return true;  // RESP2: there is none
  const auto count = parse_number<std::uint32_t>(rest);
  if (!count) return bad("a length that is no number");
  if (is_string(type)) {
    if (*count > kMostBytes) return bad("a string of more than 8 MiB");
    if (type == '=' && *count < 4) return bad("a verbatim string without its format");
    body_ = *count + kEnd.size();
    return true;
  }
  if (type == '>' && depth_ > 0) return bad("a push within an answer");
  if (*count == 0) {
    if (type == '|') return bad("an attribute without anything in it");
    return true;
  }
  return open(is_map(type) ? std::size_t{2} * *count : *count, type == '|');
}

std::string_view ReplyReader::take_line() {
  const std::size_t end = bytes_.find('\n', at_);
  const std::string_view line = std::string_view(bytes_).substr(at_, end - 1 - at_);
  at_ = end + 1;
  return line;
}

// Passes over one value.
void ReplyReader::skip() {
  Value nobodys;
  build(nobodys);
}

void ReplyReader::read_elements(Value& value, std::size_t count) {
  value.type = Value::Type::array;
  Value* const first = values_.data() + used_;
  used_ += count;
  for (std::size_t i = 0; i < count; ++i) build(first[i]);
  value.elements = {first, count};
}

// Reads the value at at_, of which scan() has seen that it is whole and right.
void ReplyReader::build(Value& value) {
  value = Value();
  std::string_view line = take_line();
  while (line.front() == '|') {  // attributes: nobody asked for them
    const std::size_t pairs = parse_number<std::uint32_t>(line.substr(1)).value_or(0);
    for (std::size_t i = 0; i < 2 * pairs; ++i) skip();
    line = take_line();
  }
  const char type = line.front();
  const std::string_view rest = line.substr(1);
  const bool none = rest == "-1";
  switch (type) {
    case ':':
      value.type = Value::Type::integer;
      value.integer =
          parse_number<std::int64_t>(rest.starts_with('+') ? rest.substr(1) : rest).value_or(0);
      return;
    case '#':
      value.type = Value::Type::integer;
      value.integer = rest == "t" ? 1 : 0;
      return;
    case '_':
      return;
    case '-':
      value.type = Value::Type::error;
      value.text = rest;
      return;
    case '+':
    case ',':
    case '(':
      value.type = Value::Type::text;
      value.text = rest;
      return;
    default:
      break;
  }
  if ((type == '$' || type == '*') && none) return;
  const std::size_t count = parse_number<std::uint32_t>(rest).value_or(0);
  if (is_string(type)) {
    value.type = type == '!' ? Value::Type::error : Value::Type::text;
    value.text = std::string_view(bytes_).substr(at_, count);
    if (type == '=') value.text.remove_prefix(4);  // "txt:"
    at_ += count + kEnd.size();
    return;
  }
  read_elements(value, type == '%' ? 2 * count : count);
}

}  // namespace suimon::redis
