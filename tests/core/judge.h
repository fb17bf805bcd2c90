// One random life of one bucket, judged step by step against the model.
//
// A subject is a bucket under test: copyable, with `apply(op, n, now, max_wait)`, `scale`, and
// `same(other)`, which compares the whole state. The judge knows what it may expect of it:
//   exact (scale.shift == 0): the model's verdict, remaining, waits, to the unit;
//   class V: never generous. It may be late: what it refuses at t, the model refuses too, two
//     units before t. (The rate itself is rounded down by less than 1 in 2^shift per nanosecond,
//     which is added to the two units: one more unit in 36 years. Backwards that rounding helps: to
//     a clock that lags, less has gone by since. No window holds more for that, because all of them
//     are counted by the slower clock; see Admissions.)
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "suimon/core/charge.h"
#include "suimon/decision.h"
#include "tests/core/model.h"
#include "tests/core/worlds.h"

namespace suimon::test {

// Gives `why` when the life of one subject breaks the law.
template <class Subject>
class Judge {
 public:
  Judge(Dice& dice, const Limit& limit, const Subject& subject)
      : dice_(dice), limit_(limit), subject_(subject), model_(limit), time_(dice, limit) {
    unit_ = model_.token();  // in drops * token * 2^shift
    one_ = Big(1) << subject.scale.shift;
    drop_ = Big(subject.scale.token) * one_;
  }

  struct Figures {
    std::uint64_t decisions = 0;
    std::uint64_t refused = 0;
    std::uint64_t late = 0;      // refused although the model's level had just reached the cost
    std::uint64_t reserved = 0;  // lives that met the reserved word 0, which is kept as 1
  };

  // `steps` random operations. With `refunds`, tokens are given back too and time runs forwards.
  void live(unsigned steps, bool refunds, Figures& figures) {
    first_ = time_.now();
    std::int64_t now = first_;
    std::int64_t hint = now;
    for (unsigned i = 0; i < steps && why.empty(); ++i) {
      const std::int64_t next = time_.next(hint);
      now = refunds ? std::max(now, next) : next;
      step(now, refunds, hint);
      ++figures.decisions;
      if (subject_.meets_reserved()) {
        ++figures.reserved;
        break;
      }
    }
    figures.refused += refused_;
    figures.late += late_;
    if (why.empty() && !admissions_.within(limit_, reservations_ ? 1 : 0)) {
      complain("a window holds more than C + floor(R*t)", now, Op::take, 0);
    }
  }

  std::string why;

 private:
  bool exact() const { return subject_.scale.shift == 0; }

  void complain(std::string_view what, std::int64_t now, Op op, std::uint64_t n) {
    std::ostringstream text;
    text << what << ": capacity " << limit_.capacity << ", " << limit_.refill.tokens << " per "
         << limit_.refill.period.count() << " ns, op " << static_cast<int>(op) << " of " << n
         << " at " << now << ", SUIMON_SEED=" << seed();
    why = text.str();
  }

  // The model's level in units of 1/(token * 2^shift) drops, less `units` and the rate's rounding.
  Big late_level(std::int64_t now, int units) const {
    const Big elapsed = Big(now) > first_ ? Big(now) - first_ : Big(first_) - now;
    return model_.level(now) * drop_ - unit_ * (one_ * units + (exact() ? Big(0) : elapsed));
  }
  // The most that a clock which lags may see.
  Big most_level(std::int64_t now) const {
    return model_.level(now) * drop_ + unit_ * (exact() ? Big(0) : model_.lag(now));
  }
  // Whether `n` tokens cannot be there after `wait`. The longest that can be said stands for more.
  bool too_early(std::int64_t now, Duration wait, std::uint64_t n) const {
    return wait != Duration::max() &&
           cost(n) > most_level(now) + model_.inflow() * drop_ * wait.count();
  }
  std::uint64_t whole(const Big& level) const {
    return level < 0 ? 0 : static_cast<std::uint64_t>(Big(level / (unit_ * drop_)));
  }
  Big cost(std::uint64_t n) const { return n * unit_ * drop_; }

  void step(std::int64_t now, bool refunds, std::int64_t& hint) {
    const std::uint64_t kind = dice_.uniform(0, refunds ? 11 : 9);
    const Op op = kind < 6    ? Op::take
                  : kind == 6 ? Op::take_up_to
                  : kind == 7 ? Op::peek
                  : kind < 10 ? Op::reserve
                              : Op::give_back;
    // Half of the reservations are for no wait at all: those must be plain takes. What was promised
    // for later is not given back: the window that it is due in would not know of it.
    const Duration patience(op == Op::reserve && !refunds && dice_.one_in(2)
                                ? static_cast<std::int64_t>(dice_.any_size(
                                      0, std::min<std::uint64_t>(1ULL << 54, fill_ns())))
                                : 0);
    const std::uint64_t n = any_cost(dice_, limit_.capacity);
    const Subject before = subject_;
    const Instant at{Duration(now)};
    const Decision decision = subject_.apply(op, n, at, patience);

    if (decision.at() != at) return complain("another instant", now, op, n);
    if (op == Op::give_back) {
      model_.put_back(now, n);
      admissions_.give_back(now, n);
      if (subject_.apply(Op::peek, 0, at, Duration(0)).remaining() > most_whole(now)) {
        complain("generous after giving back", now, op, n);
      }
      return;
    }
    if (op == Op::take_up_to) return took_up_to(decision, now, n, before);
    if (decision.never() != (n > limit_.capacity)) return complain("never?", now, op, n);
    if (decision.allowed()) {
      allowed(decision, now, op, n, patience, before);
    } else {
      if (!subject_.same(before)) return complain("a refusal changed the state", now, op, n);
      if (decision.granted() != 0) return complain("refused and granted", now, op, n);
      if (decision.limited()) limited(decision, now, op, n, patience, hint);
      if (decision.never() && decision.retry_after()) complain("never has no wait", now, op, n);
      ++refused_;
    }
    if (why.empty()) figures_of(decision, now, op, n);
  }

  void took_up_to(const Decision& decision, std::int64_t now, std::uint64_t n,
                  const Subject& before) {
    const std::uint64_t most = std::min(n, model_.whole(now));
    const std::uint64_t least = std::min(n, whole(late_level(now, 2)));
    if (!decision.allowed() || decision.granted() > most || decision.granted() < least) {
      return complain("take_up_to took another amount", now, Op::take_up_to, n);
    }
    if (decision.granted() == 0 && !subject_.same(before)) {
      return complain("taking nothing changed the state", now, Op::take_up_to, n);
    }
    model_.remove(now, decision.granted());
    admissions_.add(now, decision.granted());
    figures_of(decision, now, Op::take_up_to, n);
  }

  void allowed(const Decision& decision, std::int64_t now, Op op, std::uint64_t n,
               Duration patience, const Subject& before) {
    const Duration wait = decision.wait();
    if (wait < Duration(0) || wait > patience) return complain("waits too long", now, op, n);
    if (too_early(now, wait, n)) {
      return complain("generous", now, op, n);
    }
    if (exact() && wait.count() != model_.wait_for(now, n)) {
      return complain("another wait", now, op, n);
    }
    if (decision.retry_after()) return complain("allowed, and yet a wait", now, op, n);
    if (op == Op::peek || n == 0) {
      if (!subject_.same(before)) return complain("a look changed the state", now, op, n);
      return;
    }
    if (decision.granted() != n) return complain("granted another amount", now, op, n);
    model_.remove(now, n);
    std::int64_t due = 0;
    if (__builtin_add_overflow(now, wait.count(), &due)) return;  // due after the end of time
    reservations_ = reservations_ || wait != Duration(0);
    admissions_.add(due, n);
  }

  void limited(const Decision& decision, std::int64_t now, Op op, std::uint64_t n,
               Duration patience, std::int64_t& hint) {
    // One unit more for a reservation in class V: what flows in while it waits is rounded down.
    const int late = exact() ? 0 : op == Op::reserve ? 3 : 2;
    if (late_level(now, late) + model_.inflow() * drop_ * patience.count() >= cost(n)) {
      return complain("refused although the tokens are there", now, op, n);
    }
    if (op != Op::reserve && model_.holds(now, n)) ++late_;
    const auto retry = decision.retry_after();
    if (!retry) return complain("limited without a wait", now, op, n);
    if (exact() ? retry->count() != model_.wait_for(now, n) : too_early(now, *retry, n)) {
      return complain("another retry_after", now, op, n);
    }
    std::int64_t then = 0;
    if (__builtin_add_overflow(now, retry->count(), &then)) return;  // after the end of time
    hint = then;
    // A wait for more than the word's horizon cannot be tried out.
    if (retry->count() == 0 && op == Op::reserve) return;
    if (retry->count() > Timeline::kSpan) return;
    Subject later = subject_;
    if (!later.apply(Op::take, n, Instant(Duration(then)), Duration(0)).allowed()) {
      return complain("refused again after retry_after", now, op, n);
    }
    Subject early = subject_;
    if (early.apply(Op::take, n, Instant(Duration(then - 1)), Duration(0)).allowed()) {
      return complain("retry_after is not tight", now, op, n);
    }
  }

  // What the decision says about the bucket as it is now.
  void figures_of(const Decision& decision, std::int64_t now, Op op, std::uint64_t n) {
    const std::uint64_t left = decision.remaining();
    const std::uint64_t most = most_whole(now);
    if (left < whole(late_level(now, 0)) || left > most) {
      return complain("another remaining", now, op, n);
    }
    const std::int64_t full = model_.wait_for(now, limit_.capacity);
    const std::int64_t reset = decision.reset_after().count();
    const bool early = too_early(now, decision.reset_after(), limit_.capacity);
    if (exact() ? reset != full : (reset < full && early))
      complain("another reset_after", now, op, n);
    const auto next = decision.next_token_after();
    if (exact()) {
      const bool none = left == limit_.capacity || full == 0;
      if (next.has_value() == none) return complain("next token of a full bucket", now, op, n);
      if (next && next->count() != model_.wait_for(now, left + 1)) {
        complain("another next_token_after", now, op, n);
      }
    } else if (next && left < limit_.capacity && too_early(now, *next, left + 1)) {
      complain("next_token_after is too early", now, op, n);
    }
  }

  // A token that is complete up to the resolution of the state counts as whole.
  std::uint64_t most_whole(std::int64_t now) const {
    return exact() ? model_.whole(now) : whole(most_level(now) + unit_ * one_ * 2);
  }
  std::uint64_t fill_ns() const {
    return static_cast<std::uint64_t>(
        std::min(Big(1ULL << 54), Big(limit_.capacity * model_.token() / model_.inflow() + 2)));
  }

  Dice& dice_;
  const Limit limit_;
  Subject subject_;
  FluidBucket model_;
  Timeline time_;
  Admissions admissions_;
  Big unit_, one_, drop_;
  std::int64_t first_ = 0;
  bool reservations_ = false;
  std::uint64_t refused_ = 0;
  std::uint64_t late_ = 0;
};

}  // namespace suimon::test
