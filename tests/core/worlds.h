// Random limits and random timelines for the tests against the model.
#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include "suimon/limit.h"
#include "tests/timeline.h"

namespace suimon::test {

// A limit that validate() accepts: from 1 per 30 days to 16 per nanosecond, numerators small and
// large, capacities of every size.
inline Limit any_limit(Dice& dice) {
  constexpr std::array<std::int64_t, 9> kPeriods = {1,
                                                    1'000,
                                                    1'000'000,
                                                    1'000'000'000,
                                                    60'000'000'000,
                                                    3'600'000'000'000,
                                                    86'400'000'000'000,
                                                    2'592'000'000'000'000,
                                                    1'000'000'007};
  for (;;) {
    Limit limit;
    const std::uint64_t kind = dice.uniform(0, 3);
    if (kind == 0) {  // as people write them
      limit.refill = {dice.any_size(1, 10'000), Duration(kPeriods[dice.uniform(0, 8)])};
    } else if (kind == 1) {  // up to 1e9/s, any numerator
      limit.refill = per_second(dice.any_size(1, 1'000'000'000));
    } else if (kind == 2) {  // anything at all
      limit.refill = {dice.any_size(1, ~0ULL),
                      Duration(static_cast<std::int64_t>(dice.any_size(1, (1ULL << 63) - 1)))};
    } else {  // few tokens, any period
      limit.refill = {dice.uniform(1, 9),
                      Duration(static_cast<std::int64_t>(dice.any_size(1, 1ULL << 55)))};
    }
    limit.capacity = dice.any_size(1, dice.one_in(4) ? 1ULL << 60 : 1'000'000);
    if (validate(limit)) return limit;
  }
}

// Readings of one clock, somewhere in its range: at both ends, around zero, negative, or anywhere.
// Steps are of the sizes that matter to the limit; some go back. All within 14 years.
class Timeline {
 public:
  static constexpr std::int64_t kSpan = 14LL * 365 * 86'400 * 1'000'000'000;

  Timeline(Dice& dice, const Limit& limit) : dice_(dice) {
    constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    const auto period = static_cast<double>(limit.refill.period.count());
    const double token = period / static_cast<double>(limit.refill.tokens);
    token_ = step_of(token);
    fill_ = step_of(token * static_cast<double>(limit.capacity));
    switch (dice.uniform(0, 5)) {
      case 0:
        first_ = kMin;
        break;
      case 1:
        first_ = kMax - static_cast<std::int64_t>(dice.any_size(0, kSpan));
        break;
      case 2:
        first_ = -static_cast<std::int64_t>(dice.any_size(0, kSpan));
        break;
      case 3:
        first_ = static_cast<std::int64_t>(dice.any_size(0, kSpan));
        break;
      case 4:
        first_ = 0;
        break;
      default:
        first_ = static_cast<std::int64_t>(dice.uniform(0, static_cast<std::uint64_t>(kMax))) -
                 (dice.one_in(2) ? kMax : 0);
    }
    last_ = first_ > kMax - kSpan ? kMax : first_ + kSpan;
    now_ = first_;
  }

  std::int64_t now() const { return now_; }

  // The next reading: `hint` is an instant of interest (when a wait ends, say).
  std::int64_t next(std::int64_t hint) {
    switch (dice_.uniform(0, 9)) {
      case 0:
      case 1:
        break;  // the same instant again
      case 2:
      case 3:
        move(static_cast<std::int64_t>(dice_.any_size(0, token_)));
        break;
      case 4:
        move(static_cast<std::int64_t>(dice_.any_size(0, fill_)));
        break;
      case 5:
        move(static_cast<std::int64_t>(dice_.uniform(0, token_)));
        break;
      case 6:
        move(-static_cast<std::int64_t>(dice_.any_size(0, token_)));
        break;
      case 7:
        move(-static_cast<std::int64_t>(dice_.any_size(1, std::min(fill_, kYear))));
        break;
      default:  // at an instant of interest, or one tick beside it
        if (hint >= first_ && hint <= last_) now_ = hint;
        move(static_cast<std::int64_t>(dice_.uniform(0, 2)) - 1);
    }
    return now_;
  }

 private:
  static constexpr std::uint64_t kYear = kSpan / 14;

  static std::uint64_t step_of(double ns) {
    return static_cast<std::uint64_t>(std::clamp(ns * 1.5, 2.0, static_cast<double>(kSpan) / 20));
  }
  void move(std::int64_t by) {
    std::int64_t moved = 0;
    if (__builtin_add_overflow(now_, by, &moved)) return;
    now_ = std::clamp(moved, first_, last_);
  }

  Dice& dice_;
  std::uint64_t token_ = 0;
  std::uint64_t fill_ = 0;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  std::int64_t now_ = 0;
};

// A cost for a bucket of `capacity`: mostly few tokens, and the edges 0, C and C + 1.
inline std::uint64_t any_cost(Dice& dice, std::uint64_t capacity) {
  switch (dice.uniform(0, 9)) {
    case 0:
      return capacity;
    case 1:
      return capacity + 1;
    case 2:
      return dice.one_in(3) ? 0 : 1;
    case 3:
      return dice.any_size(1, ~0ULL);
    case 4:
    case 5:
      return dice.uniform(1, capacity);
    default:
      return dice.any_size(1, capacity);
  }
}

}  // namespace suimon::test
