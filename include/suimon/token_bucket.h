// One exact token bucket: `tokens = min(C, tokens + R*T)`, allowed when `tokens >= n`.
//
//     suimon::TokenBucket bucket({.capacity = 10, .refill = suimon::per_second(2)});
//     if (bucket.try_take()) serve();
//
// The whole state is one 64-bit word, so the object is cheap, lock-free and never drifts, at any
// rate and after years. A bucket starts full. A refused call changes nothing.
//
// Law: in every window of length t the admitted cost is at most C + floor(R*t), for any mix of
// costs, threads and clock steps; a call is refused only when fewer than n tokens are there, up
// to the resolution of the state: exact for rates p/q tokens per ns with p <= 9 and C*q < 2^62
// (every N per second, minute, hour or day with a small numerator), else at most two units late,
// a unit being normally at most 1/4 ns. Time that goes backwards never mints a token
// (by less than 4 years, which every clock keeps).
//
// Threads: any thread may call anything at any time. Complexity: O(1), lock-free.
// Instants: see suimon/time.h. The calls without one read CLOCK_BOOTTIME; do not mix them with
// instants of another clock. The bucket must be used at least once in 18 years.
// Source: GCRA as in ITU-T I.371, with TAT in units of the rate's denominator.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "suimon/decision.h"
#include "suimon/detail/token_word.h"
#include "suimon/limit.h"
#include "suimon/result.h"
#include "suimon/time.h"

namespace suimon {

class TokenBucket {
 public:
  // Throws std::invalid_argument, with what is wrong and what would be right, for a limit that
  // validate() refuses. make() returns the same as a Result.
  explicit TokenBucket(const Limit& limit);
  static Result<TokenBucket> make(const Limit& limit);

  // A copy is a second, independent bucket with the state of the first.
  TokenBucket(const TokenBucket& other) noexcept
      : scale_(other.scale_), word_(other.word_.load(std::memory_order_relaxed)) {}
  TokenBucket& operator=(const TokenBucket& other) noexcept {
    scale_ = other.scale_;  // assigning is not for buckets that other threads use
    word_.store(other.word_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return *this;
  }

  // Takes `cost` tokens if they are there: true exactly when they were taken. A cost of 0 takes
  // nothing and asks whether the bucket is free of debt.
  bool try_take(std::uint64_t cost, Instant now) noexcept { return take(cost, now).allowed(); }
  bool try_take(std::uint64_t cost = 1) noexcept { return try_take(cost, boot_now()); }

  // As try_take, with the whole answer: remaining tokens, waits, never.
  Decision take(std::uint64_t cost, Instant now) noexcept {
    if (cost > scale_.capacity) [[unlikely]]
      return answer(Outcome::never, now, cost, 0);
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      const detail::Taken step = detail::take(scale_, word, now, cost);
      if (!step.fits) return {Outcome::limited, scale_, now, step.debt, cost, 0};
      // Relaxed order suffices: the word carries the whole state.
      if (cost == 0 || word_.compare_exchange_weak(word, step.word, std::memory_order_relaxed)) {
        return {Outcome::allowed, scale_, now, step.debt, cost, cost};
      }
    }
  }
  Decision take(std::uint64_t cost = 1) noexcept { return take(cost, boot_now()); }

  // What take(cost, now) would answer, without taking anything.
  Decision peek(std::uint64_t cost, Instant now) const noexcept;
  Decision peek(std::uint64_t cost = 1) const noexcept { return peek(cost, boot_now()); }

  // Takes as many of `cost` tokens as are there, possibly 0: Decision::granted().
  Decision take_up_to(std::uint64_t cost, Instant now) noexcept;

  // Takes `cost` tokens that are there now or will be within `max_wait` (clamped to 0 ... 10
  // years): when allowed, the caller goes on after Decision::wait(). Order of calls is order of
  // turns. Refused without a trace when the wait would be longer.
  Decision reserve(std::uint64_t cost, Duration max_wait, Instant now) noexcept;

  // Gives `tokens` back that were taken in vain; the bucket never holds more than its capacity.
  // The law then holds for admitted minus given back, each at its own time.
  void give_back(std::uint64_t tokens, Instant now) noexcept;
  void give_back(std::uint64_t tokens = 1) noexcept { give_back(tokens, boot_now()); }

  // The capacity in tokens.
  std::uint64_t capacity() const noexcept { return scale_.capacity; }

 private:
  explicit TokenBucket(const detail::Scale& scale) noexcept : scale_(scale) {}
  Decision answer(Outcome outcome, Instant now, std::uint64_t cost,
                  std::uint64_t granted) const noexcept;

  detail::Scale scale_;
  std::atomic<std::uint64_t> word_{0};
};

}  // namespace suimon
