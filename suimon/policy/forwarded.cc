#include "suimon/policy/forwarded.h"

#include <algorithm>
#include <array>

#include "suimon/base/text.h"

namespace suimon {
namespace {

bool is_token_char(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";  // RFC 9110 section 5.6.2
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kMarks.find(c) != std::string_view::npos;
}

// Whether the quote at `at` is escaped: an odd number of backslashes stands before it.
bool is_escaped(std::string_view text, std::size_t at) {
  std::size_t first = at;
  while (first > 0 && text[first - 1] == '\\') --first;
  return (at - first) % 2 == 1;
}

// No address is longer in quotes, a port and escapes for every character included.
constexpr std::size_t kLongestNode = 128;

// A value as it stands at the beginning of `rest`, which moves on behind it.
struct Value {
  std::array<char, kLongestNode> text;
  std::size_t size = 0;
  bool good = false;
  std::string_view view() const { return {text.data(), size}; }
};

Value pop_value(std::string_view& rest) {
  Value value;
  const auto add = [&](char c) {
    if (value.size < value.text.size()) value.text[value.size] = c;
    ++value.size;
  };
  std::size_t at = 0;
  if (rest.starts_with('"')) {
    for (at = 1; at < rest.size() && rest[at] != '"'; ++at) {
      if (rest[at] == '\\') ++at;
      if (at == rest.size()) break;
      add(rest[at]);
    }
    value.good = at < rest.size();
    at = std::min(at + 1, rest.size());
  } else {
    // Colons and brackets must be quoted, but some proxies forget it; nothing is unclear then.
    for (; at < rest.size() && (is_token_char(rest[at]) ||
                                std::string_view(":[]").find(rest[at]) != std::string_view::npos);
         ++at) {
      add(rest[at]);
    }
    value.good = at > 0;
  }
  rest.remove_prefix(at);
  return value;
}

// "_" and letters, digits, ".", "_", "-": how a proxy hides a port (RFC 7239 section 6.3).
bool is_hidden(std::string_view text) {
  return text.size() > 1 && text.front() == '_' &&
         std::all_of(text.begin() + 1, text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

// A node (RFC 7239 section 6): an address, and behind a colon a port or its hidden name.
std::optional<Address> parse_node(std::string_view node) {
  const auto colon = node.rfind(':');
  const auto bracket = node.rfind(']');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  if (has_port && is_hidden(node.substr(colon + 1))) node = node.substr(0, colon);
  // Without brackets, an IPv6 address and a port could not be told apart.
  if (!node.starts_with('[') && std::count(node.begin(), node.end(), ':') > 1) return std::nullopt;
  return parse_address(node);
}

}  // namespace

std::string_view pop_last_forwarded(std::string_view& list) {
  bool quoted = false;
  std::size_t at = list.size();
  while (at > 0) {
    const char c = list[at - 1];
    if (c == '"') {
      // Read backwards, a string ends at the first quote that is not escaped.
      quoted = !quoted || is_escaped(list, at - 1);
    } else if (c == ',' && !quoted) {
      break;
    }
    --at;
  }
  const std::string_view last = list.substr(at);
  list = at == 0 ? std::string_view{} : list.substr(0, at - 1);
  return trimmed(last);
}

std::optional<Address> forwarded_for(std::string_view element) {
  std::optional<Address> found;
  bool named = false;
  std::string_view rest = element;
  while (!(rest = trimmed(rest)).empty()) {
    if (rest.front() == ';') {
      rest.remove_prefix(1);
      continue;
    }
    const auto end = static_cast<std::size_t>(
        std::find_if_not(rest.begin(), rest.end(), is_token_char) - rest.begin());
    if (end == 0 || end == rest.size() || rest[end] != '=') return std::nullopt;
    const std::string_view name = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const Value value = pop_value(rest);
    if (!value.good) return std::nullopt;
    rest = trimmed(rest);
    if (!rest.empty() && rest.front() != ';') return std::nullopt;
    if (!equal_ignoring_case(name, "for")) continue;
    if (named || value.size > kLongestNode) return std::nullopt;  // once in an element
    named = true;
    found = parse_node(value.view());
  }
  return found;
}

}  // namespace suimon
