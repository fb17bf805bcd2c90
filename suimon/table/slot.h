// A slot: one key's identity and state, in 16 bytes that move as one.
//
//   id = fp:48 | shape:14 | kind:2      an empty slot is {0, 0}
//
// fp is a part of the key's keyed hash; shape says which limit with which parameters the word is
// expressed in; what the word is depends on the kind.
#pragma once

#include <cstddef>
#include <cstdint>

#include "suimon/core/charge.h"

namespace suimon::table {

enum class Kind : std::uint8_t {
  empty = 0,
  live = 1,     // word: the state
  pending = 2,  // being inserted and not yet verified; word: a number that is never used twice
  claimed = 3,  // a decision over several slots is under way; word: a ref (descriptor.h)
};

struct alignas(16) Slot {
  std::uint64_t id = 0;
  std::uint64_t word = 0;
  friend constexpr bool operator==(const Slot&, const Slot&) = default;
};

constexpr std::uint64_t kFingerprints = (std::uint64_t{1} << 48) - 1;

constexpr std::uint64_t id_of(std::uint64_t fingerprint, ShapeNumber shape, Kind kind) {
  return fingerprint << 16 | std::uint64_t{shape} << 2 | static_cast<std::uint64_t>(kind);
}
constexpr std::uint64_t fingerprint_of(std::uint64_t id) { return id >> 16; }
constexpr ShapeNumber shape_of(std::uint64_t id) {
  return static_cast<ShapeNumber>(id >> 2 & 0x3fff);
}
constexpr Kind kind_of(std::uint64_t id) { return static_cast<Kind>(id & 3); }
constexpr std::uint64_t with_kind(std::uint64_t id, Kind kind) {
  return (id & ~std::uint64_t{3}) | static_cast<std::uint64_t>(kind);
}

}  // namespace suimon::table
