// Small things about text in protocols: ASCII case, blanks and numbers, whatever the locale.
//
// Thread rule: pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace suimon {

constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

inline std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = ascii_lower(c);
  return lower;
}

// Whether the texts are equal but for the case of ASCII letters.
constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

// Without the spaces and tabs at both ends (OWS of RFC 9110 section 5.6.3).
constexpr std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// The number that the whole text is: digits of this base and nothing else, no sign and no blank.
// Nothing if it is none, or one that Number does not hold.
template <std::integral Number>
std::optional<Number> parse_number(std::string_view text, int base = 10) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (text.starts_with('-') || error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

// Appends a whole number in decimal digits.
void append_number(std::integral auto number, std::string& out) {
  std::array<char, 24> digits;
  out.append(digits.data(),
             std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

}  // namespace suimon
