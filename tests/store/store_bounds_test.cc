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

class StoreBounds : public StoreContract {};
INSTANTIATE_TEST_SUITE_P(All, StoreBounds, testing::ValuesIn(store_urls()), test_name);

TEST_P(StoreBounds, LimitedClientsStayLimitedInAFloodOfInventedKeys) {
  constexpr std::uint64_t kMaxKeys = 10'000;
  constexpr std::uint64_t kLimited = 1'000;
  constexpr std::uint64_t kFlood = 200'000;
  StoreWithLimit s(bounded(kMaxKeys), {5, per_day(1)});
  for (std::uint64_t i = 0; i < kLimited; ++i) s.apply(Op::take, 5, at(0s), key_number(i));
  std::uint64_t most_bytes = 0;
  std::uint64_t allowed = 0;
  for (std::uint64_t i = 0; i < kFlood; ++i) {
    allowed += s.apply(Op::take, 1, at(1s), key_number(kLimited + i)).allowed() ? 1 : 0;
    most_bytes = std::max(most_bytes, s.store->figures().bytes);
  }
  const StoreFigures figures = s.store->figures();
  EXPECT_LE(figures.entries, kMaxKeys + 1);  // and the one overflow bucket
  EXPECT_LE(most_bytes, (kMaxKeys + 1) * 256);
  EXPECT_GE(figures.overflows, kFlood - kMaxKeys);
  EXPECT_EQ(figures.evictions, 0u);
  EXPECT_LE(allowed, kMaxKeys - kLimited + 5);  // the overflow bucket holds 5
  for (std::uint64_t i = 0; i < kLimited; ++i) {
    ASSERT_TRUE(s.apply(Op::take, 1, at(1s), key_number(i)).limited()) << i;
  }
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
  EXPECT_EQ(s.store->figures().entries, kMaxKeys);
  EXPECT_EQ(s.store->figures().overflows, 0u);
}

TEST_P(StoreBounds, TheOverflowBucketIsItsLimitsOwn) {
  StoreWithLimit s(bounded(1), {5, per_day(1)});
  const auto* other =
      *s.shapes.assign("other", "", Algorithm::token_bucket, {2, per_day(1)}, at(0s));
  ASSERT_TRUE(s.store->adopt({&other, 1}));
  s.apply(Op::take, 1, at(0s), kA);
  const auto take = [&](std::uint64_t key, ShapeNumber shape) {
    return take_one(*s.store, {.key = key_number(key), .shape = shape}, at(0s)).allowed();
  };
  for (std::uint64_t key = 0; key < 5; ++key) EXPECT_TRUE(take(key, s.shape)) << key;
  EXPECT_FALSE(take(5, s.shape));
  EXPECT_TRUE(take(6, other->number));
  EXPECT_TRUE(take(7, other->number));
  EXPECT_FALSE(take(8, other->number));
  EXPECT_EQ(s.apply(Op::peek, 1, at(0s), kA).remaining(), 4u);
  EXPECT_EQ(s.store->figures().overflows, 9u);
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
  // At 10 s it is full and makes room for B; B is full at 11 s and makes room again.
  ASSERT_TRUE(s.apply(Op::take, 1, at(10s), kB).allowed());
  ASSERT_TRUE(s.apply(Op::take, 1, at(11s), key_number(3)).allowed());
  EXPECT_EQ(s.store->figures().overflows, 0u);
  // A thread whose clock says 0.5 s has no room now; one whose clock says 12 s makes it, and
  // takes all. Then the first comes back to A at its old time.
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
    std::map<std::uint64_t, Admissions> admitted;
    std::int64_t now = 0;
    std::uint64_t own = 0;
    for (int i = 0; i < 3'000; ++i) {
      now += static_cast<std::int64_t>(dice.uniform(0, 600'000'000));
      const std::int64_t read = now - static_cast<std::int64_t>(dice.any_size(0, 5'000'000'000));
      const std::uint64_t key = dice.uniform(0, 19);
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
    ASSERT_GT(own, 500u);
  }
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
