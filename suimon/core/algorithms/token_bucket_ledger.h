// The token bucket as an exact ledger: a debt in units of the exact scale, as of an instant.
//
// This is the formulation for stores whose state is wider than one word; it has no rounding and
// no horizon at any rate. (The one-word formulation is token_bucket_word.h.)
// Source: tokens = min(C, tokens + R*T), with debt = C - tokens.
#pragma once

#include <algorithm>

#include "suimon/core/charge.h"
#include "suimon/core/state.h"

namespace suimon::algorithms {

struct TokenBucketLedger {
  static constexpr Duration kLongestReservation = std::chrono::hours(24 * 3650);

  // One pure step: what `ledger` becomes and what the caller hears. Instants before the ledger's
  // own mint nothing: the debt then counts what has not flowed in yet. A step that moves no token
  // writes nothing. A reservation waits 10 years at most.
  static Step<Ledger> decide(const Ledger& ledger, const detail::Scale& scale, Instant now,
                             std::uint64_t amount, Op op, Duration max_wait) {
    using detail::uint128;
    const uint128 debt = debt_at(ledger, scale, now);
    const uint128 burst = scale.burst();
    const uint128 need = static_cast<uint128>(amount) * scale.token;
    const auto answer = [&](Outcome outcome, uint128 after, std::uint64_t granted) {
      return Step<Ledger>{after != debt, written(ledger, now, debt, after),
                          Decision(outcome, scale, now, after, amount, granted)};
    };
    switch (op) {
      case Op::give_back:
        return answer(Outcome::allowed, need >= debt ? 0 : debt - need, 0);
      case Op::force:
        return answer(Outcome::allowed, std::min(debt + need, kMostDebt), amount);
      case Op::take_up_to: {
        const uint128 there = debt >= burst ? 0 : (burst - debt) / scale.token;
        const auto granted = static_cast<std::uint64_t>(std::min<uint128>(there, amount));
        return answer(Outcome::allowed, debt + static_cast<uint128>(granted) * scale.token,
                      granted);
      }
      case Op::take:
      case Op::peek:
      case Op::reserve:
        break;
    }
    if (amount > scale.capacity) return answer(Outcome::never, debt, 0);
    const Duration patience =
        op == Op::reserve ? std::clamp(max_wait, Duration(0), kLongestReservation) : Duration(0);
    const uint128 slack = static_cast<uint128>(patience.count()) * scale.scale;
    if (debt + need > burst + slack) return answer(Outcome::limited, debt, 0);
    return op == Op::peek ? answer(Outcome::allowed, debt, 0)
                          : answer(Outcome::allowed, debt + need, amount);
  }

  // How long after the ledger's instant it equals an untouched one.
  static Duration time_to_full(const Ledger& ledger, const detail::Scale& scale) {
    return detail::wait_until(scale, ledger.at, ledger.amount, 0);
  }

  // The ledger under other parameters, as of `when`: debt in tokens is kept, rounded up, so a
  // change of parameters never hands out tokens.
  static Ledger convert(const Ledger& ledger, const detail::Scale& from, const detail::Scale& to,
                        Instant when) {
    using detail::uint128;
    const Instant at = std::max(when, ledger.at);
    const uint128 debt = debt_at(ledger, from, at);
    const uint128 tokens = std::min(debt / from.token, static_cast<uint128>(1) << 61);
    const uint128 rest = debt % from.token;  // below from.token < 2^63, so the product fits
    const uint128 converted = tokens * to.token + (rest * to.token + from.token - 1) / from.token;
    return {at, std::min(converted, kMostDebt)};
  }

 private:
  // Debts stop here, above any burst and reservation together (2^123 and 2^123), so that no sum of
  // them can overflow 128 bits.
  static constexpr detail::uint128 kMostDebt = static_cast<detail::uint128>(1) << 124;

  static detail::uint128 debt_at(const Ledger& ledger, const detail::Scale& scale, Instant now) {
    using detail::uint128;
    if (now < ledger.at) {
      const uint128 missing =
          static_cast<uint128>(detail::unsigned_ns(ledger.at) - detail::unsigned_ns(now)) *
          scale.scale;
      return std::min(ledger.amount + std::min(missing, kMostDebt), kMostDebt);
    }
    const uint128 inflow =
        static_cast<uint128>(detail::unsigned_ns(now) - detail::unsigned_ns(ledger.at)) *
        scale.scale;
    return inflow >= ledger.amount ? 0 : ledger.amount - inflow;
  }

  // The ledger in which `before` has become `after` at `now`. Its instant never moves back: for a
  // late caller the change is told as of the ledger's own instant.
  static Ledger written(const Ledger& ledger, Instant now, detail::uint128 before,
                        detail::uint128 after) {
    if (now >= ledger.at) return {now, after};
    if (after >= before) return {ledger.at, std::min(ledger.amount + (after - before), kMostDebt)};
    const detail::uint128 given = before - after;
    return {ledger.at, ledger.amount > given ? ledger.amount - given : 0};
  }
};

}  // namespace suimon::algorithms
