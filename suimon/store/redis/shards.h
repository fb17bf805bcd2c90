// How keys are spread over a cluster: by hash tags whose slots lie evenly among all slots.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/core/identity.h"

namespace suimon::redis {

inline constexpr std::uint32_t kSlots = 16'384;

// The slot of a key, or of what stands between its first { and the next }, as Redis Cluster has it:
// CRC-16/XMODEM modulo 16384.
std::uint16_t slot_of(std::string_view key);

struct Tag {
  std::string text;
  std::uint16_t slot = 0;
};

// One tag for each of `count` equal ranges of slots, from 1 to 1024: always the same ones.
std::vector<Tag> even_tags(unsigned count);

// Which of `count` shards, at most 4096, a key belongs to: keys of one place (core/identity.h) lie
// in one shard.
inline unsigned shard_of(const Key& key, unsigned count) {
  return static_cast<unsigned>((place_of(key) * count) >> kPlaceBits);
}

}  // namespace suimon::redis
