// What every store does at its bound, with clocks that lag, and while policies change.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "tests/core/model.h"
#include "tests/core/worlds.h"
#include "tests/store/contract.h"

namespace suimon {
namespace {

using namespace test;

class StoreBounds : public StoreContract {
 protected:
  // The most states that a store for `max_keys` may hold: a table has some room to spare, which is
  // what lets it take its keys at all.
  std::uint64_t places(std::uint64_t max_keys) const {
    return GetParam().starts_with("reference") ? max_keys : max_keys + max_keys / 2 + 256;
  }
  // Fills the store with clients that have nothing left, until no newcomer finds a place.
  static void fill(StoreWithLimit& s, std::uint64_t max_keys, Instant now) {
    const ShapeNumber filler = s.add("filler", {1, per_day(1)});
    for (std::uint64_t i = 0; i < 100 * (max_keys + 12); ++i) {
      take_one(*s.store, {.key = key_number(1'000'000 + i), .shape = filler}, now);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(All, StoreBounds, testing::ValuesIn(store_urls()), test_name);

// 200,000 invented keys of two limits, half of them fully spent, in a store for 10,000.
TEST_P(StoreBounds, LimitedClientsStayLimitedInAFloodOfInventedKeys) {
  constexpr std::uint64_t kMaxKeys = 10'000;
  constexpr std::uint64_t kLimited = 100;
  constexpr std::uint64_t kFlood = 200'000;
  StoreWithLimit s(bounded(kMaxKeys), {5, per_day(1)});
  const ShapeNumber fast = s.add("fast", {1'000, per_second(1'000)});
  for (std::uint64_t i = 0; i < kLimited; ++i) {
    ASSERT_TRUE(s.apply(Op::take, 5, at(0s), key_number(i)).allowed());
  }
  std::uint64_t least_bytes = ~0ULL;
  std::uint64_t most_bytes = 0;
  for (std::uint64_t i = 0; i < kFlood; ++i) {
    const bool spent = i % 2 == 0;
    take_one(*s.store,
             {.key = key_number(kLimited + i),
              .amount = spent ? (i % 4 == 0 ? 5u : 1'000u) : 1u,
              .shape = i % 4 < 2 ? s.shape : fast},
             at(1s));
    least_bytes = std::min(least_bytes, s.store->figures().bytes);
    most_bytes = std::max(most_bytes, s.store->figures().bytes);
  }
  const StoreFigures figures = s.store->figures();
  EXPECT_LE(figures.entries, places(kMaxKeys));
  EXPECT_LE(most_bytes, 3'000'000u);
  if (!GetParam().starts_with("reference")) {
    EXPECT_EQ(least_bytes, most_bytes);
  }
  EXPECT_GT(figures.overflows, 0u);
  for (std::uint64_t i = 0; i < kLimited; ++i) {
    ASSERT_TRUE(s.apply(Op::take, 1, at(1s), key_number(i)).limited()) << i;
  }
}

// When everybody owes all, newcomers share one bucket, so a flood gets what the places hold and no
// more.
TEST_P(StoreBounds, AFloodOfSpentKeysIsBoundedAltogether) {
  constexpr std::uint64_t kMaxKeys = 1'000;
  StoreWithLimit s(bounded(kMaxKeys), {5, per_day(1)});
  std::uint64_t admitted = 0;
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    admitted += s.apply(Op::take, 5, at(0s), key_number(i)).granted();
  }
  EXPECT_LE(admitted, 5 * (places(kMaxKeys) + 1));
  EXPECT_EQ(s.store->figures().evictions, 0u);
  EXPECT_GE(s.store->figures().overflows, 50'000 - places(kMaxKeys));
}

TEST_P(StoreBounds, StatesThatAreFullAgainMakeRoom) {
  constexpr std::uint64_t kMaxKeys = 100;
  StoreWithLimit s(bounded(kMaxKeys), {5, per_second(1)});
  for (std::uint64_t second = 0; second < 50; ++second) {
    const Instant now = at(std::chrono::seconds(second));
    for (std::uint64_t i = 0; i < kMaxKeys; ++i) {
      ASSERT_TRUE(s.apply(Op::take, 1, now, key_number(second * kMaxKeys + i)).allowed());
    }
  }
  EXPECT_LE(s.store->figures().entries, places(kMaxKeys));
  EXPECT_EQ(s.store->figures().overflows, 0u);
  EXPECT_LE(s.store->figures().evictions, 50 * kMaxKeys / 20);
}

TEST_P(StoreBounds, TheOverflowBucketIsItsLimitsOwn) {
  StoreWithLimit s(bounded(1), {5, per_day(1)});
  const ShapeNumber other = s.add("other", {2, per_day(1)});
  ASSERT_TRUE(s.apply(Op::take, 5, at(0s), kA).allowed());
  fill(s, 1, at(0s));
  const std::uint64_t before = s.store->figures().overflows;
  const auto take = [&](std::uint64_t key, ShapeNumber shape) {
    return take_one(*s.store, {.key = key_number(key), .shape = shape}, at(0s)).allowed();
  };
  for (std::uint64_t key = 0; key < 5; ++key) EXPECT_TRUE(take(key, s.shape)) << key;
  EXPECT_FALSE(take(5, s.shape));
  EXPECT_TRUE(take(6, other));
  EXPECT_TRUE(take(7, other));
  EXPECT_FALSE(take(8, other));
  EXPECT_EQ(s.apply(Op::peek, 1, at(0s), key_number(9)).remaining(), 0u);
  EXPECT_TRUE(s.apply(Op::peek, 1, at(0s), kA).limited());
  EXPECT_EQ(s.store->figures().overflows, before + 10);
}

// Two newcomers of one limit in one request, and nobody gives way: one bucket, charged twice.
TEST_P(StoreBounds, NewcomersOfOneGroupShareTheOverflowBucket) {
  StoreWithLimit s(bounded(1), {5, per_day(1)});
  fill(s, 1, at(0s));
  const std::array pair{Charge{.key = key_number(1), .amount = 2, .shape = s.shape},
                        Charge{.key = key_number(2), .amount = 2, .shape = s.shape}};
  std::array<Decision, 2> decisions;
  bool taken = false;
  ASSERT_TRUE(take_group(*s.store, pair, decisions, at(0s), &taken));
  EXPECT_TRUE(taken);
  EXPECT_EQ(decisions[1].remaining(), 1u);
  ASSERT_TRUE(take_group(*s.store, pair, decisions, at(0s), &taken));
  EXPECT_FALSE(taken);
  EXPECT_EQ(s.apply(Op::take, 1, at(0s), key_number(3)).remaining(), 0u);
}

// Where the policy wants it so, a newcomer without a place is refused, and nobody else is touched.
TEST_P(StoreBounds, ANewcomerWithoutAPlaceMayBeRefused) {
  StoreWithLimit s(bounded(1), {5, per_second(1)}, Instant::min(), WhenFull::refuse);
  ASSERT_TRUE(s.apply(Op::take, 5, at(0s), kA).allowed());
  fill(s, 1, at(0s));
  const std::uint64_t before = s.store->figures().overflows;
  const Decision refused = s.apply(Op::take, 2, at(0s), key_number(1));
  EXPECT_TRUE(refused.limited());
  EXPECT_EQ(refused.retry_after(), 2s);
  EXPECT_EQ(refused.remaining(), 0u);
  EXPECT_TRUE(s.apply(Op::reserve, 1, at(0s), key_number(1), 1h).limited());
  EXPECT_EQ(s.store->figures().overflows, before + 2);
  EXPECT_TRUE(s.apply(Op::take, 6, at(0s), key_number(1)).never());
  // All or none: what is left of a client that is known is not spent for a newcomer.
  EXPECT_TRUE(s.apply(Op::take, 0, at(1s), kA).allowed());
  const std::array pair{Charge{.key = kA, .shape = s.shape},
                        Charge{.key = key_number(2), .shape = s.shape}};
  std::array<Decision, 2> decisions;
  bool taken = true;
  ASSERT_TRUE(take_group(*s.store, pair, decisions, at(1s), &taken));
  EXPECT_FALSE(taken);
  EXPECT_TRUE(decisions[0].allowed());
  EXPECT_TRUE(decisions[1].limited());
  EXPECT_EQ(s.apply(Op::peek, 0, at(1s), kA).remaining(), 1u);
}

// Or he is let through, as often as he comes, and nothing is kept of him.
TEST_P(StoreBounds, ANewcomerWithoutAPlaceMayBePardoned) {
  StoreWithLimit s(bounded(1), {5, per_day(1)}, Instant::min(), WhenFull::pardon);
  ASSERT_TRUE(s.apply(Op::take, 5, at(0s), kA).allowed());
  fill(s, 1, at(0s));
  const StoreFigures before = s.store->figures();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(s.apply(Op::take, 2, at(0s), key_number(1)).remaining(), 3u);
  }
  EXPECT_EQ(s.store->figures().overflows, before.overflows + 20);
  EXPECT_TRUE(s.apply(Op::take, 6, at(0s), key_number(1)).never());
  EXPECT_TRUE(s.apply(Op::take, 1, at(0s), kA).limited());
  EXPECT_EQ(s.store->figures().entries, before.entries);
  // Beside a client that is known and limited, in one request: refused, whatever the other hears.
  const std::array pair{Charge{.key = kA, .shape = s.shape},
                        Charge{.key = key_number(2), .shape = s.shape}};
  std::array<Decision, 2> decisions;
  bool taken = true;
  ASSERT_TRUE(take_group(*s.store, pair, decisions, at(0s), &taken));
  EXPECT_FALSE(taken);
  // And beside one who is not: both.
  const Charge free{.key = kA, .amount = 5, .shape = s.shape};
  EXPECT_TRUE(take_one(*s.store, free, at(120h)).allowed());
}

// A limit without a key has one state for everybody, which no flood can take away.
TEST_P(StoreBounds, TheStateOfALimitWithoutAKeyIsNeverLost) {
  StoreWithLimit s(bounded(100), {1'000'000, per_day(1)});
  const Charge everybody{.key = kA, .amount = 10, .shape = s.shape, .keyless = true};
  EXPECT_TRUE(take_one(*s.store, everybody, at(0s)).allowed());
  fill(s, 100, at(0s));
  EXPECT_EQ(take_one(*s.store, everybody, at(0s)).remaining(), 999'980u);
}

TEST_P(StoreBounds, OneKeyTwiceInAGroupIsOneBucketAtTheBoundToo) {
  StoreWithLimit s(bounded(1), {10, per_day(1)});
  const std::array twice{Charge{.key = kA, .amount = 4}, Charge{.key = kA, .amount = 4}};
  std::array<Decision, 2> decisions;
  bool taken = false;
  ASSERT_TRUE(take_group(*s.store, twice, decisions, at(0s), &taken));
  EXPECT_TRUE(taken);
  EXPECT_EQ(s.store->figures().overflows, 0u);
  EXPECT_EQ(s.apply(Op::peek, 1, at(0s)).remaining(), 2u);
}

TEST_P(StoreBounds, ALateClockMintsNothingAfterAStateWasDropped) {
  StoreWithLimit s(bounded(1), {10, per_second(1)});
  ASSERT_TRUE(s.apply(Op::take, 10, at(0s), kA).allowed());
  // At 10 s it is full and makes room for others, which are full at 11 s and make room again.
  for (std::uint64_t i = 0; i < 12; ++i) {
    s.apply(Op::take, 1, at(10s), key_number(i));
  }
  // Then a thread comes back to A whose clock says less, between others.
  Admissions a;
  a.add(0, 10);
  for (const Duration when : {12s + 0ms, 0s + 500ms, 12s + 0ms, 13s + 0ms}) {
    const Decision d = s.apply(Op::take, 3, at(when), kA);
    if (d.allowed()) a.add(d.at().ns, 3);
  }
  EXPECT_TRUE(a.within({10, per_second(1)}));
}

// Many keys in a small store, clocks that lag: per key the bound holds, dropped states or not.
TEST_P(StoreBounds, StatesThatComeAndGoKeepTheBoundWithClocksThatLag) {
  Dice dice(51);
  const Limit limit{4, per_second(1)};
  for (std::uint64_t round = 0; round < 20 * stretch(); ++round) {
    StoreWithLimit s(bounded(8), limit);
    // Whoever owes anything could not pay 4, so is limited and does not give way.
    s.add("limit", limit, Instant::min(), "", 4);
    std::map<std::uint64_t, Admissions> admitted;
    std::int64_t now = 0;
    std::uint64_t own = 0;
    for (int i = 0; i < 3'000; ++i) {
      now += static_cast<std::int64_t>(dice.uniform(0, 600'000'000));
      const std::int64_t read = now - static_cast<std::int64_t>(dice.any_size(0, 5'000'000'000));
      const std::uint64_t key = dice.uniform(0, 29);
      const std::uint64_t n = dice.uniform(1, 4);
      const std::uint64_t overflows = s.store->figures().overflows;
      const Decision d = s.apply(Op::take, n, Instant(Duration(read)), key_number(key));
      const bool shared = s.store->figures().overflows != overflows;
      own += shared ? 0 : 1;
      // A new state is decided at an instant that has been read already, if the caller's own lies
      // before that: the bound is about the instants for which decisions were made.
      ASSERT_GE(d.at().ns, read);
      ASSERT_LE(d.at().ns, now);
      if (d.allowed()) admitted[shared ? 1'000 : key].add(d.at().ns, n);
    }
    for (auto& [key, admissions] : admitted) {
      ASSERT_TRUE(admissions.within(limit)) << "key " << key << ", SUIMON_SEED=" << seed();
    }
    ASSERT_EQ(s.store->figures().evictions, 0u);
    ASSERT_GT(own, 500u);
  }
}

// Who is limited since a reload does not give way by what was true before it.
TEST_P(StoreBounds, ALowerRateOrCapacityPardonsNobody) {
  for (const Limit& lower : {Limit{100, per_day(1)}, Limit{10, per_second(100)}}) {
    StoreWithLimit s(bounded(10), {100, per_second(100)}, at(0s));
    const std::uint64_t spent = lower.capacity == 100 ? 100 : 95;
    ASSERT_TRUE(s.apply(Op::take, spent, at(0s), kA).allowed());
    s.change(lower, at(0s));
    const Instant later = lower.capacity == 100 ? at(2s) : at(0s);
    fill(s, 10, later);
    EXPECT_TRUE(s.apply(Op::take, lower.capacity == 100 ? 1 : 6, later, kA).limited())
        << lower.capacity;
  }
}

// Who is full again by the rate in force gives way, though the old one would have taken days.
TEST_P(StoreBounds, AHigherRateMakesRoomSooner) {
  StoreWithLimit s(bounded(10), {10, per_day(1)}, at(0s));
  for (std::uint64_t i = 0; i < 200; ++i) s.apply(Op::take, 10, at(0s), key_number(i));
  s.change({10, per_second(10)}, at(0s));
  const std::uint64_t overflows = s.store->figures().overflows;
  for (std::uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(s.apply(Op::take, 10, at(1000s), key_number(1'000 + i)).allowed()) << i;
  }
  EXPECT_EQ(s.store->figures().overflows, overflows);
}

TEST_P(StoreBounds, TheEndOfTimeDropsNobodyWhoOwes) {
  StoreWithLimit s(bounded(1), {10, per_day(1)});
  ASSERT_TRUE(s.apply(Op::take, 10, Instant::max(), kA).allowed());
  s.apply(Op::take, 1, Instant::max(), kB);
  EXPECT_TRUE(s.apply(Op::take, 1, Instant::max(), kA).limited());
}

// Threads take from the same keys while the limit changes under them: no state is lost.
TEST_P(StoreBounds, ReloadsUnderTrafficKeepTheDebt) {
  StoreWithLimit s(GetParam(), {1'000, per_day(1)}, at(0s));
  const ShapeNumber old = s.shape;
  std::atomic<std::uint64_t> spent{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2'000; ++i) {
        const Charge charge{.key = kA, .shape = old};
        if (take_one(*s.store, charge, at(1s)).allowed()) ++spent;
      }
    });
  }
  for (std::uint64_t i = 1; i <= 200; ++i) s.change({1'000 + i % 2, per_day(1)}, at(1s));
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(spent, 1'000u);
  EXPECT_LE(spent, 1'001u);
}

}  // namespace
}  // namespace suimon
