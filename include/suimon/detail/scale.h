// How one limit counts: the integers behind the exact token bucket.
//
// Time is measured in units: position(now) = floor(now * scale / 2^shift) units, and one token
// takes `token` units to flow in. There are two classes, told apart by `shift` alone:
//   class E (exact), shift 0: scale = p and token = q for the rate p/q tokens per nanosecond in
//     lowest terms. A unit is 1/p ns, so nothing is ever rounded.
//   class V (every other rate): token = m, a power of two that makes a unit at most 1/4 ns, and
//     scale / 2^shift is the rate in units per nanosecond, rounded down. Never generous; at most
//     two units late.
// The same formulas serve both, because E is V without a fraction.
#pragma once

#include <cstdint>

#include "suimon/limit.h"
#include "suimon/time.h"

namespace suimon::detail {

__extension__ typedef unsigned __int128 uint128;

struct Scale {
  std::uint64_t scale = 1;
  std::uint64_t token = 1;
  std::uint64_t capacity = 1;
  std::uint8_t shift = 0;

  // The whole bucket in units.
  constexpr uint128 burst() const { return static_cast<uint128>(capacity) * token; }
};

// Where `now` lies, in units modulo 2^64: rounded down and rounded up.
struct Position {
  std::uint64_t floor;
  std::uint64_t ceil;
};

// Flipping the top bit maps int64 onto uint64 in order, so that negative instants need no case.
constexpr std::uint64_t unsigned_ns(Instant now) {
  return static_cast<std::uint64_t>(now.ns) ^ (std::uint64_t{1} << 63);
}

constexpr uint128 wide_position(const Scale& scale, Instant now) {
  return static_cast<uint128>(unsigned_ns(now)) * scale.scale;
}

// position() in class V. Apart, so that the few instructions of class E stay few where it is
// inlined.
[[gnu::noinline]] constexpr Position rounded_position(const Scale& scale, Instant now) {
  const uint128 x = wide_position(scale, now);
  const uint128 fraction = x & ((static_cast<uint128>(1) << scale.shift) - 1);
  const auto floor = static_cast<std::uint64_t>(x >> scale.shift);
  return {floor, floor + (fraction != 0 ? 1 : 0)};
}

constexpr Position position(const Scale& scale, Instant now) {
  if (scale.shift != 0) return rounded_position(scale, now);
  const std::uint64_t exact =
      unsigned_ns(now) * scale.scale;  // no more than the product's low half
  return {exact, exact};
}

// The exact counting of a limit (class E at any rate). Its numbers may exceed one 64-bit word:
// for stores whose state is wider. Requires validate(limit).
Scale exact_scale(const Limit& limit);

// The counting that fits one 64-bit word: class E where 2^63/p ns is at least 30 years and C*q is
// below 2^62, else class V. Requires validate(limit).
Scale word_scale(const Limit& limit);

// The shortest wait after `now` until a debt of `debt` units has shrunk to `target` units.
// Rounded up to a whole nanosecond and tight: one nanosecond less is too early.
Duration wait_until(const Scale& scale, Instant now, uint128 debt, uint128 target);

}  // namespace suimon::detail
