#include "suimon/door/resp/replies.h"

#include <array>
#include <cassert>
#include <charconv>

namespace suimon::door {
namespace {

constexpr std::size_t kLongestNumber = 24;  // ":-9223372036854775808\r\n"

char* put(char mark, std::int64_t number, char* at) {
  *at++ = mark;
  if (number >= 0 && number < 10) {
    *at++ = static_cast<char>('0' + number);
  } else {
    at = std::to_chars(at, at + kLongestNumber, number).ptr;
  }
  *at++ = '\r';
  *at++ = '\n';
  return at;
}

void append_header(char mark, std::int64_t number, std::string& out) {
  std::array<char, kLongestNumber> text;
  const char* const end = put(mark, number, text.data());
  out.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

void append_size(char mark, std::size_t size, std::string& out) {
  append_header(mark, static_cast<std::int64_t>(size), out);
}

}  // namespace

void append_simple(std::string_view text, std::string& out) {
  out += '+';
  out += text;
  out += "\r\n";
}

void append_error(std::string_view text, std::string& out) {
  out += '-';
  for (const char c : text) out += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? ' ' : c;
  out += "\r\n";
}

void append_integer(std::int64_t number, std::string& out) { append_header(':', number, out); }

void append_bulk(std::string_view bytes, std::string& out) {
  append_size('$', bytes.size(), out);
  out += bytes;
  out += "\r\n";
}

void append_null(Resp version, std::string& out) {
  out += version == Resp::three ? "_\r\n" : "$-1\r\n";
}

void append_text(std::string_view text, Resp version, std::string& out) {
  if (version == Resp::two) return append_bulk(text, out);
  append_size('=', text.size() + 4, out);
  out += "txt:";
  out += text;
  out += "\r\n";
}

void append_array(std::size_t size, std::string& out) { append_size('*', size, out); }

void append_map(std::size_t pairs, Resp version, std::string& out) {
  if (version == Resp::three) return append_size('%', pairs, out);
  append_size('*', 2 * pairs, out);
}

void append_set(std::size_t size, Resp version, std::string& out) {
  append_size(version == Resp::three ? '~' : '*', size, out);
}

void append_integers(std::span<const std::int64_t> numbers, std::string& out) {
  constexpr std::size_t kMost = 8;
  assert(numbers.size() <= kMost);
  std::array<char, (kMost + 1) * kLongestNumber> text;
  char* at = put('*', static_cast<std::int64_t>(numbers.size()), text.data());
  for (const std::int64_t number : numbers) at = put(':', number, at);
  out.append(text.data(), static_cast<std::size_t>(at - text.data()));
}

}  // namespace suimon::door
