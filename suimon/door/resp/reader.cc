#include "suimon/door/resp/reader.h"

#include <algorithm>
#include <cstdint>

namespace suimon::door {
namespace {

// A length's digits: no more are needed for any that is allowed.
constexpr std::size_t kMostDigits = 10;

// Reads the number of a header line ("*3\r\n", "$11\r\n") whose mark is at `at`, and moves `at`
// behind the line.
enum class Line : std::uint8_t { whole, incomplete, wrong };
Line read_count(std::string_view in, std::size_t& at, std::int64_t& number) {
  std::size_t i = at + 1;
  const bool negative = i < in.size() && in[i] == '-';
  if (negative) ++i;
  const std::size_t first = i;
  std::int64_t value = 0;
  for (; i < in.size() && in[i] >= '0' && in[i] <= '9'; ++i) {
    if (i - first == kMostDigits) return Line::wrong;
    value = value * 10 + (in[i] - '0');
  }
  if (i == in.size()) return Line::incomplete;
  if (i == first || in[i] != '\r') return Line::wrong;
  if (i + 1 == in.size()) return Line::incomplete;
  if (in[i + 1] != '\n') return Line::wrong;
  number = negative ? -value : value;
  at = i + 2;
  return Line::whole;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char unescaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

// Appends one word of `line` from `at` on to `out`: "double quoted" with escapes, 'single quoted'
// with \' alone, or bare. False when a quote does not end, or something stands right behind it.
bool append_word(std::string_view line, std::size_t& at, std::string& out) {
  char quote = 0;
  for (; at < line.size(); ++at) {
    const char c = line[at];
    if (quote == 0) {
      if (is_blank(c)) return true;
      if (c == '"' || c == '\'') {
        quote = c;
      } else {
        out.push_back(c);
      }
    } else if (c == quote) {
      ++at;
      return at == line.size() || is_blank(line[at]);
    } else if (c == '\\' && quote == '"' && at + 1 < line.size()) {
      const bool hex = line[at + 1] == 'x' && at + 3 < line.size() &&
                       hex_digit(line[at + 2]) >= 0 && hex_digit(line[at + 3]) >= 0;
      if (hex) {
        out.push_back(static_cast<char>(hex_digit(line[at + 2]) * 16 + hex_digit(line[at + 3])));
        at += 3;
      } else {
        out.push_back(unescaped(line[++at]));
      }
    } else if (c == '\\' && at + 1 < line.size() && line[at + 1] == '\'') {
      out.push_back(line[++at]);
    } else {
      out.push_back(c);
    }
  }
  return quote == 0;
}

}  // namespace

RespReader::Status RespReader::bad(std::string_view why) {
  error_ = "Protocol error: ";
  error_ += why;
  return Status::bad;
}

RespReader::Status RespReader::read(std::string_view in, bool proved, std::size_t& consumed) {
  words_.clear();
  if (in.empty()) return Status::need_more;
  return in.front() == '*' ? read_array(in, proved, consumed) : read_line(in, proved, consumed);
}

RespReader::Status RespReader::read_array(std::string_view in, bool proved, std::size_t& consumed) {
  const auto most_words =
      static_cast<std::int64_t>(proved ? limits_.words : limits_.unproved_words);
  const auto most_bytes =
      static_cast<std::int64_t>(proved ? limits_.word_bytes : limits_.unproved_word_bytes);
  std::size_t at = 0;
  std::int64_t count = 0;
  switch (read_count(in, at, count)) {
    case Line::incomplete:
      return Status::need_more;
    case Line::wrong:
      return bad("invalid multibulk length");
    case Line::whole:
      break;
  }
  if (count > most_words) {
    return bad(proved ? "invalid multibulk length" : "unauthenticated multibulk length");
  }
  if (count <= 0) {
    consumed = at;
    return Status::nothing;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (at == in.size()) return Status::need_more;
    if (in[at] != '$') {
      const char c = in[at];
      const bool shown = c >= ' ' && c <= '~';
      return bad(std::string("expected '$', got '") + (shown ? c : '?') + "'");
    }
    std::int64_t size = 0;
    switch (read_count(in, at, size)) {
      case Line::incomplete:
        return Status::need_more;
      case Line::wrong:
        return bad("invalid bulk length");
      case Line::whole:
        break;
    }
    if (size < 0 || size > most_bytes) {
      return bad(proved || size < 0 ? "invalid bulk length" : "unauthenticated bulk length");
    }
    const auto bytes = static_cast<std::size_t>(size);
    if (at + bytes > limits_.command_bytes) return bad("too big a command");
    if (in.size() - at < bytes + 2) return Status::need_more;
    if (in[at + bytes] != '\r' || in[at + bytes + 1] != '\n') {
      return bad("a bulk string is longer than its length says");
    }
    words_.push_back(in.substr(at, bytes));
    at += bytes + 2;
  }
  consumed = at;
  return Status::command;
}

RespReader::Status RespReader::read_line(std::string_view in, bool proved, std::size_t& consumed) {
  const std::size_t most_words = proved ? limits_.words : limits_.unproved_words;
  const std::size_t most_bytes = proved ? limits_.line_bytes : limits_.unproved_word_bytes;
  const std::size_t end = in.substr(0, most_bytes + 1).find('\n');
  if (end == std::string_view::npos) {
    return in.size() > most_bytes ? bad("too big inline request") : Status::need_more;
  }
  std::string_view line = in.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  consumed = end + 1;
  unquoted_.clear();
  unquoted_.reserve(line.size());  // so that the views stay where they are
  std::size_t at = 0;
  for (;;) {
    while (at < line.size() && is_blank(line[at])) ++at;
    if (at == line.size()) break;
    if (words_.size() == most_words) return bad("too many words in an inline request");
    const std::size_t from = unquoted_.size();
    if (!append_word(line, at, unquoted_)) return bad("unbalanced quotes in request");
    words_.push_back(std::string_view(unquoted_).substr(from));
  }
  return words_.empty() ? Status::nothing : Status::command;
}

}  // namespace suimon::door
