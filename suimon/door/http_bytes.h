// Which bytes HTTP allows where (RFC 9110 section 5.5 and 5.6.2).
//
// Thread rule: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace suimon::door {

// tchar of RFC 9110 section 5.6.2, by byte.
inline constexpr std::array<bool, 256> kToken = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}();

constexpr bool is_token(char c) { return kToken[static_cast<unsigned char>(c)]; }

// How many bytes of `text`, from its beginning, make a token.
inline std::size_t token_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_token(text[length])) ++length;
  return length;
}

constexpr bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

// Whether text holds a control byte other than a tab. Eight bytes at a time: this is the one thing
// that is done to every byte of every header.
inline bool has_control(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHigh = 0x8080808080808080;
  // High bit set where a byte is below 0x20 or is 0x7f; a carry may set it above such a byte too.
  const auto suspicious = [](std::uint64_t word) {
    const std::uint64_t del = word ^ (kOnes * 0x7f);
    return (((word - kOnes * 0x20) & ~word) | ((del - kOnes) & ~del)) & kHigh;
  };
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    if (suspicious(word) == 0) continue;
    for (std::size_t k = i; k < i + 8; ++k) {
      if (is_control(text[k])) return true;
    }
  }
  for (; i < text.size(); ++i) {
    if (is_control(text[i])) return true;
  }
  return false;
}

}  // namespace suimon::door
