// The token bucket as one 64-bit word: what a table asks of an algorithm, told for TAT.
//
// The arithmetic, its classes E and V and their resolution: suimon/detail/token_word.h. Class V may
// be up to two units late and is never generous.
#pragma once

#include <algorithm>

#include "suimon/core/charge.h"
#include "suimon/core/state.h"
#include "suimon/detail/token_word.h"

namespace suimon::algorithms {

struct TokenBucketWord {
  // The commonest step, in the fewest words: takes `amount` tokens if they are there. Requires
  // amount <= capacity. This is the hot path of the table.
  static detail::Taken take(Word word, const detail::Scale& scale, Instant now,
                            std::uint64_t amount) {
    return detail::take(scale, word.bits, now, amount);
  }

  // One pure step, as TokenBucketLedger's.
  static Step<Word> decide(Word word, const detail::Scale& scale, Instant now, std::uint64_t amount,
                           Op op, Duration max_wait) {
    using detail::uint128;
    const detail::Position at = detail::position(scale, now);
    const std::uint64_t debt = detail::debt_at(word.bits, at.floor);
    const uint128 need = static_cast<uint128>(amount) * scale.token;
    const auto step = [&](std::uint64_t bits, Outcome outcome, std::uint64_t after,
                          std::uint64_t granted) {
      return Step<Word>{
          bits != word.bits, {bits}, Decision(outcome, scale, now, after, amount, granted)};
    };
    switch (op) {
      case Op::give_back:
        return step(detail::give_back(scale, word.bits, now, amount), Outcome::allowed,
                    need >= debt ? 0 : debt - static_cast<std::uint64_t>(need), 0);
      case Op::force: {
        const auto after = static_cast<std::uint64_t>(
            std::max<uint128>(debt, std::min<uint128>(debt + need, kMostDebt)));
        const std::uint64_t bits =
            after == debt ? word.bits : detail::owe(word.bits, at, debt, after - debt);
        return step(bits, Outcome::allowed, after, amount);
      }
      case Op::take_up_to: {
        const uint128 burst = scale.burst();
        const uint128 there = debt >= burst ? 0 : (burst - debt) / scale.token;
        const auto granted = static_cast<std::uint64_t>(std::min<uint128>(there, amount));
        if (granted == 0) return step(word.bits, Outcome::allowed, debt, 0);
        const detail::Taken taken = detail::take(scale, word.bits, now, granted);
        return step(taken.word, Outcome::allowed, taken.debt, granted);
      }
      case Op::take:
      case Op::peek:
      case Op::reserve:
        break;
    }
    if (amount > scale.capacity) return step(word.bits, Outcome::never, debt, 0);
    const std::uint64_t slack = op == Op::reserve ? detail::slack_of(scale, max_wait) : 0;
    const detail::Taken taken = detail::take(scale, word.bits, now, amount, slack);
    if (!taken.fits) return step(word.bits, Outcome::limited, debt, 0);
    return op == Op::peek ? step(word.bits, Outcome::allowed, debt, 0)
                          : step(taken.word, Outcome::allowed, taken.debt, amount);
  }

  // Whether the word equals an absent one for everybody whose reading of the clock is `now` or
  // later.
  static bool is_full(Word word, const detail::Scale& scale, Instant now) {
    return debt_at(word, scale, now) == 0;
  }

  // A word that becomes full at `when`: the latest state before which nothing may flow in.
  static Word full_at(const detail::Scale& scale, Instant when) {
    return {detail::advance(detail::position(scale, when).ceil, 0)};
  }

  // How long after `now` the word equals an untouched one.
  static Duration time_to_full(Word word, const detail::Scale& scale, Instant now) {
    return detail::wait_until(scale, now, debt_at(word, scale, now), 0);
  }

  // The share of the capacity that is owed at `now`, in 1/65536: 0 only for a full bucket.
  static std::uint64_t pressure(Word word, const detail::Scale& scale, Instant now) {
    const std::uint64_t debt = debt_at(word, scale, now);
    const detail::uint128 share = (static_cast<detail::uint128>(debt) << 16) / scale.burst();
    return debt == 0 ? 0 : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(share));
  }

  // Whether somebody who asks for `cost` tokens at `now` would be refused.
  static bool is_limited(Word word, const detail::Scale& scale, Instant now, std::uint64_t cost) {
    const auto need = static_cast<detail::uint128>(std::min(cost, scale.capacity)) * scale.token;
    return debt_at(word, scale, now) + need > scale.burst();
  }

  // Whole tokens that the bucket owes at `now`, rounded up.
  static std::uint64_t owed(Word word, const detail::Scale& scale, Instant now) {
    const std::uint64_t debt = debt_at(word, scale, now);
    return debt / scale.token + (debt % scale.token != 0 ? 1 : 0);
  }

  // The word under other parameters, as of `when`: debt in tokens is kept, rounded up, so a change
  // of parameters never hands out tokens.
  static Word convert(Word word, const detail::Scale& from, const detail::Scale& to, Instant when) {
    using detail::uint128;
    if (word.bits == 0) return word;
    const uint128 debt = debt_at(word, from, when);
    const uint128 converted = (debt * to.token + from.token - 1) / from.token;
    const auto units = static_cast<std::uint64_t>(std::min<uint128>(converted, kMostDebt));
    return {detail::advance(detail::position(to, when).ceil, units)};
  }

 private:
  // Forced and converted debts stop here: above any burst, and far enough below the half of the
  // range that a clock may lag by years.
  static constexpr std::uint64_t kMostDebt = std::uint64_t{1} << 62;

  static std::uint64_t debt_at(Word word, const detail::Scale& scale, Instant now) {
    return detail::debt_at(word.bits, detail::position(scale, now).floor);
  }
};

}  // namespace suimon::algorithms
