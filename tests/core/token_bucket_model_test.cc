// The token bucket in one word and as a ledger, against the model in exact fractions.

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <chrono>
#include <cstring>

#include "suimon/core/algorithms/token_bucket.h"
#include "suimon/token_bucket.h"
#include "tests/core/judge.h"

namespace suimon {
namespace {

using namespace test;

// TokenBucket: the public object.
struct Object {
  explicit Object(const Limit& limit) : scale(detail::word_scale(limit)), bucket(limit) {}

  Decision apply(Op op, std::uint64_t n, Instant now, Duration max_wait) {
    switch (op) {
      case Op::take_up_to:
        return bucket.take_up_to(n, now);
      case Op::reserve:
        return bucket.reserve(n, max_wait, now);
      case Op::peek:
        return bucket.peek(n, now);
      case Op::give_back:
        bucket.give_back(n, now);
        return bucket.peek(0, now);
      default:
        return bucket.take(n, now);
    }
  }
  // The word is the last member of the object.
  std::uint64_t word() const {
    std::uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const char*>(&bucket) + sizeof bucket - 8, 8);
    return value;
  }
  bool same(const Object& other) const { return word() == other.word(); }
  bool meets_reserved() const { return word() == 1; }

  detail::Scale scale;
  TokenBucket bucket;
};

// The ledger of stores with wide state.
struct Wide {
  explicit Wide(const Limit& limit) : scale(detail::exact_scale(limit)) {}

  Decision apply(Op op, std::uint64_t n, Instant now, Duration max_wait) {
    const Step<Ledger> step = algorithms::TokenBucket::decide(ledger, scale, now, n, op, max_wait);
    if (step.writes) ledger = step.after;
    return step.decision;
  }
  bool same(const Wide& other) const {
    return ledger.at == other.ledger.at && ledger.amount == other.ledger.amount;
  }
  bool meets_reserved() const { return false; }

  detail::Scale scale;
  Ledger ledger;
};

// The word of tables.
struct Narrow {
  explicit Narrow(const Limit& limit) : scale(detail::word_scale(limit)) {}

  Decision apply(Op op, std::uint64_t n, Instant now, Duration max_wait) {
    const Step<Word> step = algorithms::TokenBucket::decide(word, scale, now, n, op, max_wait);
    if (step.writes) word = step.after;
    return step.decision;
  }
  bool same(const Narrow& other) const { return word == other.word; }
  bool meets_reserved() const { return word.bits == 1; }

  detail::Scale scale;
  Word word;
};

// Lives buckets of the limits that `wanted` picks until `decisions` have been judged.
template <class Subject, class Wanted>
void judge(std::uint64_t stream, std::uint64_t decisions, bool refunds, Wanted wanted) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  Dice dice(stream);
  typename Judge<Subject>::Figures figures;
  std::uint64_t buckets = 0;
  while (figures.decisions < decisions * stretch() / kSanitized) {
    const Limit limit = any_limit(dice);
    if (!wanted(limit)) continue;
    ++buckets;
    Judge<Subject> judge(dice, limit, Subject(limit));
    judge.live(200, refunds, figures);
    ASSERT_EQ(judge.why, "");
  }
  EXPECT_GT(figures.refused, figures.decisions / 20) << "a test that refuses too little";
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf("%llu decisions on %llu buckets, %llu refused, %llu late, %llu met word 0, %.1f s\n",
              static_cast<unsigned long long>(figures.decisions),
              static_cast<unsigned long long>(buckets),
              static_cast<unsigned long long>(figures.refused),
              static_cast<unsigned long long>(figures.late),
              static_cast<unsigned long long>(figures.reserved), seconds);
}

bool counts_exactly(const Limit& limit) { return detail::word_scale(limit).shift == 0; }
bool counts_rounded(const Limit& limit) { return !counts_exactly(limit); }
bool at_any_rate(const Limit&) { return true; }

TEST(TokenBucketModel, ExactWordsAgreeWithTheModelInEverything) {
  judge<Object>(1, 1'000'000, false, counts_exactly);
  judge<Narrow>(8, 500'000, false, counts_exactly);
}
TEST(TokenBucketModel, RoundedWordsAreNeverGenerousAndAtMostTwoUnitsLate) {
  judge<Object>(2, 1'000'000, false, counts_rounded);
  judge<Narrow>(9, 500'000, false, counts_rounded);
}
TEST(TokenBucketModel, LedgersAgreeWithTheModelInEverythingAtEveryRate) {
  judge<Wide>(3, 1'000'000, false, at_any_rate);
}
TEST(TokenBucketModel, WhatIsGivenBackMayBeTakenAgainAndNoMore) {
  judge<Object>(4, 150'000, true, counts_exactly);
  judge<Object>(5, 150'000, true, counts_rounded);
  judge<Wide>(6, 150'000, true, at_any_rate);
  judge<Narrow>(10, 150'000, true, counts_exactly);
  judge<Narrow>(11, 150'000, true, counts_rounded);
}

// The model keeps fractions as integers over a common denominator; this is the same in rational
// numbers, as it stands in the textbook.
TEST(TokenBucketModel, TheModelIsTheTextbookFormula) {
  using boost::multiprecision::cpp_rational;
  Dice dice(7);
  for (int bucket = 0; bucket < 100; ++bucket) {
    const Limit limit = any_limit(dice);
    const cpp_rational capacity(limit.capacity);
    const cpp_rational rate(limit.refill.tokens, limit.refill.period.count());
    FluidBucket model(limit);
    Timeline time(dice, limit);
    cpp_rational tokens = capacity;
    std::int64_t last = time.now();
    for (int i = 0; i < 100; ++i) {
      const std::int64_t now = std::max(last, time.next(last));
      tokens += rate * (cpp_rational(now) - last);
      if (tokens > capacity) tokens = capacity;
      last = now;
      const std::uint64_t n = any_cost(dice, limit.capacity);
      ASSERT_EQ(model.holds(now, n), tokens >= n);
      if (tokens < n) continue;
      tokens -= n;
      model.remove(now, n);
    }
  }
}

// The checker of windows against all windows, one by one.
TEST(TokenBucketModel, TheWindowCheckerSeesWhatAllWindowsShow) {
  Dice dice(8);
  int broken = 0;
  for (int round = 0; round < 2'000; ++round) {
    const Limit limit{dice.uniform(1, 5), {dice.uniform(1, 3), Duration(dice.uniform(1, 5))}};
    std::vector<std::pair<std::int64_t, std::uint64_t>> all;
    Admissions admissions;
    for (std::uint64_t i = dice.uniform(1, 8); i > 0; --i) {
      all.emplace_back(dice.uniform(0, 12), dice.uniform(1, 3));
      admissions.add(all.back().first, all.back().second);
    }
    bool within = true;
    for (std::int64_t from = 0; from <= 12; ++from) {
      for (std::int64_t to = from; to <= 12; ++to) {
        std::uint64_t sum = 0;
        for (const auto& [when, n] : all) sum += when >= from && when <= to ? n : 0;
        const std::uint64_t flowed = limit.refill.tokens * static_cast<std::uint64_t>(to - from) /
                                     static_cast<std::uint64_t>(limit.refill.period.count());
        within = within && sum <= limit.capacity + flowed;
      }
    }
    ASSERT_EQ(admissions.within(limit), within);
    broken += within ? 0 : 1;
  }
  EXPECT_GT(broken, 100);
  EXPECT_LT(broken, 1'900);
}

// Debt in tokens is kept across a change of parameters, and rounded up: never a token more, and
// never a whole unit less than the fraction.
TEST(TokenBucketModel, AChangeOfParametersKeepsTheDebt) {
  Dice dice(9);
  for (std::uint64_t i = 0; i < 50'000 * stretch(); ++i) {
    const Limit from = any_limit(dice);
    const Limit to = any_limit(dice);
    Wide old(from);
    Timeline time(dice, from);
    old.apply(Op::take, dice.uniform(1, from.capacity), test::at(Duration(time.now())), {});
    if (dice.one_in(4)) {
      old.apply(Op::force, dice.any_size(1, from.capacity), test::at(Duration(time.now())), {});
    }
    const std::int64_t when = time.next(time.now());
    const Ledger ledger = algorithms::TokenBucket::convert(
        old.ledger, old.scale, detail::exact_scale(to), test::at(Duration(when)));
    ASSERT_EQ(ledger.at, std::max(old.ledger.at, test::at(Duration(when))));
    // The debts in tokens: before = a/b at the ledger's instant, after = c/d.
    const detail::Scale scale = detail::exact_scale(to);
    const Big flowed = old.scale.scale * (Big(ledger.at.ns) - old.ledger.at.ns);
    const Big a = std::max(Big(0), Big(Big(old.ledger.amount) - flowed));
    const Big b = old.scale.token;
    const Big c = ledger.amount;
    const Big d = scale.token;
    ASSERT_GE(c * b, a * d) << "generous, SUIMON_SEED=" << seed();
    ASSERT_LE(c * b, a * d + b - 1) << "a unit late, SUIMON_SEED=" << seed();
  }
}

TEST(TokenBucketModel, AChangeOfParametersKeepsTheDebtOfAWord) {
  Dice dice(12);
  for (std::uint64_t i = 0; i < 50'000 * stretch(); ++i) {
    const Limit from = any_limit(dice);
    const Limit to = any_limit(dice);
    Narrow word(from);
    Timeline time(dice, from);
    word.apply(Op::take, dice.uniform(1, from.capacity), test::at(Duration(time.now())), {});
    const Instant when = test::at(Duration(std::max(time.now(), time.next(time.now()))));
    const detail::Scale scale = detail::word_scale(to);
    const Word changed = algorithms::TokenBucket::convert(word.word, word.scale, scale, when);
    // The debts in tokens: before = a/b, after = c/d. A debt stops at 2^62 units.
    const Big a = detail::debt_at(word.word.bits, detail::position(word.scale, when).floor);
    const Big b = word.scale.token;
    const Big c = detail::debt_at(changed.bits, detail::position(scale, when).floor);
    const Big d = scale.token;
    ASSERT_TRUE(c * b >= a * d || c >= Big(1ULL << 62)) << "generous, SUIMON_SEED=" << seed();
    ASSERT_LE(c * b, a * d + 3 * b) << "more than three units late, SUIMON_SEED=" << seed();
  }
}

}  // namespace
}  // namespace suimon
