#include "suimon/store/redis/shards.h"

namespace suimon::redis {
namespace {

std::uint16_t crc16(std::string_view text) {
  unsigned crc = 0;
  for (const char c : text) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 0x8000U) != 0 ? (crc << 1) ^ 0x1021U : crc << 1;
    }
    crc &= 0xffffU;
  }
  return static_cast<std::uint16_t>(crc);
}

}  // namespace

std::uint16_t slot_of(std::string_view key) {
  const auto open = key.find('{');
  if (open != std::string_view::npos) {
    const auto close = key.find('}', open + 1);
    if (close != std::string_view::npos && close != open + 1) {
      key = key.substr(open + 1, close - open - 1);
    }
  }
  return static_cast<std::uint16_t>(crc16(key) % kSlots);
}

std::vector<Tag> even_tags(unsigned count) {
  std::vector<Tag> tags(count);
  unsigned left = count;
  for (std::uint32_t number = 0; left > 0; ++number) {
    const std::string text = std::to_string(number);
    const std::uint16_t slot = slot_of(text);
    Tag& tag = tags[slot * count / kSlots];
    if (!tag.text.empty()) continue;
    tag = {text, slot};
    --left;
  }
  return tags;
}

}  // namespace suimon::redis
