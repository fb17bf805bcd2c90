// Time as suimon counts it: instants on one clock, in whole nanoseconds.
//
// Every decision takes the instant at which it is made; nothing inside reads a clock by itself.
// All instants given to one bucket, limiter or store must come from the same clock, and each must
// have been read already: an instant from the future would make a limit believe that time has
// passed. Any int64 is a valid Instant, negative ones included. Arithmetic saturates at the ends
// of the range instead of overflowing.
//
// Thread rule: plain values and pure functions; any thread may call. Complexity: O(1).
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>

namespace suimon {

// A length of time in whole nanoseconds.
using Duration = std::chrono::nanoseconds;

// A point on the clock that the caller uses, in nanoseconds since that clock's own zero.
struct Instant {
  std::int64_t ns = 0;

  constexpr Instant() = default;
  // The instant `since_zero` after the clock's zero.
  constexpr explicit Instant(Duration since_zero) : ns(since_zero.count()) {}

  static constexpr Instant min() { return Instant(Duration::min()); }
  static constexpr Instant max() { return Instant(Duration::max()); }

  friend constexpr auto operator<=>(Instant, Instant) = default;

  friend constexpr Instant operator+(Instant at, Duration later) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(at.ns, later.count(), &sum)) {
      sum = later.count() > 0 ? std::numeric_limits<std::int64_t>::max()
                              : std::numeric_limits<std::int64_t>::min();
    }
    return Instant(Duration(sum));
  }

  friend constexpr Duration operator-(Instant to, Instant from) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(to.ns, from.ns, &difference)) {
      difference = to.ns > from.ns ? std::numeric_limits<std::int64_t>::max()
                                   : std::numeric_limits<std::int64_t>::min();
    }
    return Duration(difference);
  }
};

// The reading of CLOCK_BOOTTIME: it never steps back and goes on while the machine sleeps.
// This is the clock of everything that decides for real; tests and replay use their own.
Instant boot_now() noexcept;

}  // namespace suimon
