// The token bucket in one 64-bit word: the instant (in units, modulo 2^64) at which the bucket
// will be full again, the "theoretical arrival time" (TAT) of GCRA.
//
// A word of 0 means "full, never touched"; a computed 0 is stored as 1 (one unit late, never
// early). A word may rest for half the range of 64 bits (at least 18 years) before it could be
// mistaken for the future.
// Pure functions: one multiply, an add and a compare decide; no division, no allocation.
#pragma once

#include <cstdint>

#include "suimon/decision.h"
#include "suimon/detail/scale.h"

namespace suimon::detail {

// The debt of `word` seen from `position`: what the bucket lacks to be full. A TAT that lies in
// the past, by half the range, is a full bucket; comparing with the burst instead would take a
// clock that lags by one tick for a long rest.
constexpr std::uint64_t debt_at(std::uint64_t word, std::uint64_t position) {
  const std::uint64_t ahead = word - position;
  return word == 0 || ahead >= (std::uint64_t{1} << 63) ? 0 : ahead;
}

// The word that lies `units` beyond `base`, never the reserved 0.
constexpr std::uint64_t advance(std::uint64_t base, std::uint64_t units) {
  const std::uint64_t word = base + units;
  if (word == 0) [[unlikely]]
    return 1;
  return word;
}

// `word`, which owes `debt` at `at`, with `units` more of debt.
constexpr std::uint64_t owe(std::uint64_t word, const Position& at, std::uint64_t debt,
                            std::uint64_t units) {
  if (debt > at.ceil - at.floor) [[likely]]
    return advance(word, units);
  // A bucket that is full starts from the position rounded up: rounding down would be a gift.
  return advance(at.ceil, units);
}

// What a reservation may owe beyond the burst: what flows in while it waits, rounded down, so that
// nobody waits longer than asked for. A wait counts as 0 to 10 years; the result is below 2^62.
constexpr std::uint64_t slack_of(const Scale& scale, Duration max_wait) {
  constexpr Duration kLongest = std::chrono::hours(24 * 3650);
  constexpr uint128 kMost = (std::uint64_t{1} << 62) - 1;
  const Duration wait = max_wait < Duration(0) ? Duration(0) : max_wait;
  const auto ns = static_cast<std::uint64_t>((wait < kLongest ? wait : kLongest).count());
  const uint128 inflow = (static_cast<uint128>(ns) * scale.scale) >> scale.shift;
  return static_cast<std::uint64_t>(inflow < kMost ? inflow : kMost);
}

struct Taken {
  bool fits;           // the tokens are there
  std::uint64_t word;  // the word after taking them (the old one when they are not)
  std::uint64_t debt;  // the debt after the step, before the word was rounded up
};

// Takes `cost` tokens from `word` if they are there, or if they will be within `slack` units
// (0 except for reservations). Requires cost <= capacity and slack < 2^62.
constexpr Taken take(const Scale& scale, std::uint64_t word, Instant now, std::uint64_t cost,
                     std::uint64_t slack = 0) {
  const Position at = position(scale, now);
  const std::uint64_t debt = debt_at(word, at.floor);
  const std::uint64_t need = cost * scale.token;
  if (debt + need > scale.capacity * scale.token + slack) return {false, word, debt};
  if (need == 0) return {true, word, debt};
  return {true, owe(word, at, debt, need), debt + need};
}

// Gives `tokens` back: the debt shrinks, and a bucket never holds more than its capacity. The
// word keeps the instant at which the bucket was full; a 0 would let a clock that lags mint.
constexpr std::uint64_t give_back(const Scale& scale, std::uint64_t word, Instant now,
                                  std::uint64_t tokens) {
  const Position at = position(scale, now);
  const std::uint64_t debt = debt_at(word, at.floor);
  const uint128 back = static_cast<uint128>(tokens) * scale.token;
  if (debt == 0) return word;
  return back >= debt ? advance(at.ceil, 0) : advance(word - static_cast<std::uint64_t>(back), 0);
}

}  // namespace suimon::detail
