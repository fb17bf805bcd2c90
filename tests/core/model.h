// The token bucket as the textbook has it, in exact fractions: the judge of the code under test.
//
// Written from the definition, not from the code: a level that is a real number of tokens,
// level = min(C, level + R*T), a request allowed when level >= n. Time that goes backwards:
// whatever flowed in after the earlier instant is not there yet, and the bucket's last instant
// does not move back. A request that moves no token leaves no trace.
#pragma once

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "suimon/limit.h"

namespace suimon::test {

// 512 bits hold every product that occurs below, with room.
using Big = boost::multiprecision::number<boost::multiprecision::cpp_int_backend<
    512, 512, boost::multiprecision::signed_magnitude, boost::multiprecision::unchecked, void>>;

// floor(a / b) and ceil(a / b) for b > 0; Big divides towards zero.
inline Big floor_div(const Big& a, const Big& b) {
  Big quotient = a / b;
  if (a < 0 && quotient * b != a) --quotient;
  return quotient;
}
inline Big ceil_div(const Big& a, const Big& b) { return -floor_div(-a, b); }

// All amounts are in drops: one token is `period` drops (nanoseconds), and one nanosecond brings
// `tokens` drops, so the fraction R needs no division and no lowest terms.
class FluidBucket {
 public:
  explicit FluidBucket(const Limit& limit)
      : inflow_(limit.refill.tokens),
        token_(limit.refill.period.count()),
        capacity_(limit.capacity),
        level_(capacity_ * token_) {}

  // The level at `now`, in drops. Negative when tokens were promised that have not come yet.
  Big level(std::int64_t now) const {
    if (!used_) return capacity_ * token_;
    const Big flowed = level_ + inflow_ * (Big(now) - last_);
    return now < last_ ? flowed : std::min(Big(capacity_ * token_), flowed);
  }
  bool holds(std::int64_t now, std::uint64_t tokens) const { return level(now) >= tokens * token_; }

  // Moves `tokens` out at `now`, whether they are there or not.
  void remove(std::int64_t now, std::uint64_t tokens) {
    if (tokens != 0) change(now, Big(tokens) * -token_);
  }
  // Moves up to `tokens` in, never above the capacity.
  void put_back(std::int64_t now, std::uint64_t tokens) {
    const Big room = capacity_ * token_ - level(now);
    if (tokens != 0 && room != 0) change(now, std::min(room, Big(Big(tokens) * token_)));
  }

  // Whole tokens at `now`, rounded down, never below 0.
  std::uint64_t whole(std::int64_t now) const {
    const Big now_level = level(now);
    return now_level < 0 ? 0 : static_cast<std::uint64_t>(Big(now_level / token_));
  }
  // The shortest wait after which `tokens` are there; at most what a Duration can say.
  std::int64_t wait_for(std::int64_t now, std::uint64_t tokens) const {
    const Big missing = Big(tokens) * token_ - level(now);
    if (missing <= 0) return 0;
    const Big wait = ceil_div(missing, inflow_);
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    return wait > kMost ? kMost : static_cast<std::int64_t>(wait);
  }

  // How far `now` lies before the latest instant at which anything moved.
  Big lag(std::int64_t now) const { return used_ && now < last_ ? Big(last_) - now : Big(0); }

  const Big& token() const { return token_; }
  const Big& inflow() const { return inflow_; }

 private:
  void change(std::int64_t now, const Big& by) {
    if (!used_ || now >= last_) {
      level_ = level(now);
      last_ = now;
      used_ = true;
    }
    level_ += by;
  }

  Big inflow_, token_, capacity_, level_;
  std::int64_t last_ = 0;
  bool used_ = false;
};

// What was admitted when, less what was given back: the claim "in every window of length t at most
// C + floor(R*t)".
class Admissions {
 public:
  void add(std::int64_t when, std::uint64_t tokens) {
    if (tokens != 0) list_.emplace_back(when, Big(tokens));
  }
  void give_back(std::int64_t when, std::uint64_t tokens) {
    if (tokens != 0) list_.emplace_back(when, -Big(tokens));
  }

  // Whether the claim holds for all windows, with `ticks` nanoseconds added to each. O(n log n):
  // the worst window that ends at an event is that event and, if positive, the worst window that
  // ends at the event before it, less what flowed in between.
  bool within(const Limit& limit, std::int64_t ticks = 0) {
    std::sort(list_.begin(), list_.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    const Big inflow = limit.refill.tokens;
    const Big token = limit.refill.period.count();
    const Big most = limit.capacity * token + inflow * ticks;
    Big worst = 0;
    std::int64_t before = list_.empty() ? 0 : list_.front().first;
    for (std::size_t i = 0; i < list_.size();) {
      const std::int64_t when = list_[i].first;
      Big tokens = 0;  // a window holds everything of one instant, or nothing of it
      for (; i < list_.size() && list_[i].first == when; ++i) tokens += list_[i].second;
      worst = std::max(Big(0), Big(worst - inflow * (Big(when) - before))) + tokens * token;
      before = when;
      if (worst > most) return false;
    }
    return true;
  }

 private:
  std::vector<std::pair<std::int64_t, Big>> list_;
};

}  // namespace suimon::test
