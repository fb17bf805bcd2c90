#include "suimon/core/key_text.h"

#include "suimon/base/text.h"

namespace suimon {
namespace {

constexpr std::size_t kDigits = 16;  // of one half

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
  if (text.size() != 2 * kDigits) return std::nullopt;
  const auto high = parse_number<std::uint64_t>(text.substr(0, kDigits), 16);
  const auto low = parse_number<std::uint64_t>(text.substr(kDigits), 16);
  return high && low ? std::optional(Key{.high = *high, .low = *low}) : std::nullopt;
}

}  // namespace suimon
