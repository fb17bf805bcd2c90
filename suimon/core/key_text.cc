#include "suimon/core/key_text.h"

#include <charconv>

namespace suimon {
namespace {

constexpr std::size_t kDigits = 16;  // of one half

bool read_half(std::string_view digits, std::uint64_t& half) {
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, half, 16);
  return error == std::errc{} && stop == end;
}

}  // namespace

std::string key_text(const Key& key) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  text.reserve(2 * kDigits);
  for (const std::uint64_t half : {key.high, key.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kHex[(half >> shift) & 15];
  }
  return text;
}

std::optional<Key> parse_key_text(std::string_view text) {
  Key key;
  const bool good = text.size() == 2 * kDigits && read_half(text.substr(0, kDigits), key.high) &&
                    read_half(text.substr(kDigits), key.low);
  return good ? std::optional(key) : std::nullopt;
}

}  // namespace suimon
