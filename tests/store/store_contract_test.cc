// The contract of suimon/store/store.h, said once and run over every registered store.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "tests/core/model.h"
#include "tests/core/worlds.h"
#include "tests/store/contract.h"

namespace suimon {
namespace {

using namespace test;

INSTANTIATE_TEST_SUITE_P(All, StoreContract, testing::ValuesIn(contract_urls()), test_name);

// `now` less `by`, within the range.
std::int64_t earlier(std::int64_t now, std::int64_t by) {
  return (Instant(Duration(now)) + Duration(-by)).ns;
}

TEST_P(StoreContract, AnUnknownKeyMeetsAFullBucketAndALookLeavesNone) {
  StoreWithLimit s(GetParam(), {5, per_second(1)});
  EXPECT_EQ(s.apply(Op::peek, 1, at(0s)).remaining(), 5u);
  EXPECT_EQ(s.apply(Op::take, 0, at(0s)).remaining(), 5u);
  EXPECT_EQ(s.apply(Op::give_back, 3, at(0s)).remaining(), 5u);
  EXPECT_EQ(s.apply(Op::take_up_to, 0, at(0s)).granted(), 0u);
  EXPECT_TRUE(s.apply(Op::take, 6, at(0s)).never());
  EXPECT_EQ(s.store->figures().entries, 0u);
  EXPECT_EQ(s.apply(Op::take, 1, at(0s)).remaining(), 4u);
  EXPECT_EQ(s.store->figures().entries, 1u);
  EXPECT_EQ(s.apply(Op::take, 1, at(0s), kB).remaining(), 4u);
}

TEST_P(StoreContract, EveryOperationDoesWhatItSays) {
  StoreWithLimit s(GetParam(), {5, per_second(1)});
  EXPECT_EQ(s.apply(Op::take, 2, at(0s)).granted(), 2u);
  EXPECT_EQ(s.apply(Op::take_up_to, 9, at(0s)).granted(), 3u);
  EXPECT_EQ(s.apply(Op::give_back, 1, at(0s)).remaining(), 1u);
  EXPECT_EQ(s.apply(Op::peek, 1, at(0s)).remaining(), 1u);
  EXPECT_EQ(s.apply(Op::force, 3, at(0s)).remaining(), 0u);  // 2 in debt
  EXPECT_EQ(s.apply(Op::take, 1, at(0s)).retry_after(), 3s);
  EXPECT_TRUE(s.apply(Op::reserve, 1, at(0s), kA, 2999ms).limited());
  EXPECT_EQ(s.apply(Op::reserve, 1, at(0s), kA, 3s).wait(), 3s);
  EXPECT_TRUE(s.apply(Op::reserve, 6, at(0s), kA, 300s).never());
  EXPECT_EQ(s.apply(Op::peek, 5, at(0s)).retry_after(), 8s);
}

TEST_P(StoreContract, AGroupIsTakenAllOrNoneAndEachChargeHearsItsOwnDecision) {
  StoreWithLimit s(GetParam(), {5, per_second(1)});
  s.apply(Op::take, 4, at(0s), kB);
  const std::array group{Charge{.key = kA, .amount = 3}, Charge{.key = kB, .amount = 2}};
  std::array<Decision, 2> decisions;
  bool taken = true;
  ASSERT_TRUE(take_group(*s.store, group, decisions, at(0s), &taken));
  EXPECT_FALSE(taken);
  EXPECT_TRUE(decisions[0].allowed());
  EXPECT_EQ(decisions[0].remaining(), 5u);
  EXPECT_EQ(decisions[0].granted(), 0u);
  EXPECT_TRUE(decisions[1].limited());
  EXPECT_EQ(decisions[1].remaining(), 1u);
  EXPECT_EQ(decisions[1].retry_after(), 1s);
  EXPECT_EQ(s.store->figures().entries, 1u);  // the refusal left nothing behind
  ASSERT_TRUE(take_group(*s.store, group, decisions, at(1s), &taken));
  EXPECT_TRUE(taken);
  EXPECT_EQ(decisions[0].remaining(), 2u);
  EXPECT_EQ(decisions[1].remaining(), 0u);
}

TEST_P(StoreContract, WhateverAChargeAsksForIsNotSpentWhenItsGroupIsRefused) {
  for (const Op op : {Op::take, Op::take_up_to, Op::give_back, Op::force, Op::reserve}) {
    StoreWithLimit s(GetParam(), {5, per_second(1)});
    s.apply(Op::take, 2, at(0s), kA);
    // More than is there, or than the capacity: still not refused for its own sake.
    const std::uint64_t n = op == Op::take ? 3 : op == Op::reserve ? 5 : 9;
    const std::array group{Charge{.key = kA, .amount = n, .max_wait = 10s, .op = op},
                           Charge{.key = kB, .amount = 6}};
    std::array<Decision, 2> decisions;
    bool taken = true;
    ASSERT_TRUE(take_group(*s.store, group, decisions, at(0s), &taken));
    EXPECT_FALSE(taken);
    EXPECT_TRUE(decisions[0].allowed()) << static_cast<int>(op);
    EXPECT_EQ(decisions[0].granted(), 0u) << static_cast<int>(op);
    EXPECT_EQ(decisions[0].remaining(), 3u) << static_cast<int>(op);
    EXPECT_TRUE(decisions[1].never());
    EXPECT_EQ(s.apply(Op::peek, 1, at(0s), kA).remaining(), 3u) << static_cast<int>(op);
  }
}

TEST_P(StoreContract, OneKeySeveralTimesInOneGroupIsSpentSeveralTimes) {
  StoreWithLimit s(GetParam(), {10, per_second(1)});
  const std::array three{Charge{.key = kA, .amount = 1}, Charge{.key = kA, .amount = 2},
                         Charge{.key = kA, .amount = 3}};
  std::array<Decision, 3> decisions;
  bool taken = false;
  ASSERT_TRUE(take_group(*s.store, three, decisions, at(0s), &taken));
  EXPECT_TRUE(taken);
  EXPECT_EQ(decisions[0].remaining(), 9u);
  EXPECT_EQ(decisions[1].remaining(), 7u);
  EXPECT_EQ(decisions[2].remaining(), 4u);
  EXPECT_EQ(s.apply(Op::peek, 1, at(0s)).remaining(), 4u);
  // 6 more do not fit into 4: nothing is spent, and the wait is that of all three together.
  ASSERT_TRUE(take_group(*s.store, three, decisions, at(0s), &taken));
  EXPECT_FALSE(taken);
  EXPECT_EQ(decisions[2].retry_after(), 2s);
  EXPECT_EQ(s.apply(Op::peek, 1, at(0s)).remaining(), 4u);
  ASSERT_TRUE(take_group(*s.store, three, decisions, at(1999ms), &taken));
  EXPECT_FALSE(taken);
  ASSERT_TRUE(take_group(*s.store, three, decisions, at(2s), &taken));
  EXPECT_TRUE(taken);
}

TEST_P(StoreContract, OneKeyWhoseChargesTogetherExceedTheCapacityIsNever) {
  StoreWithLimit s(GetParam(), {10, per_second(1)});
  const std::array two{Charge{.key = kA, .amount = 6}, Charge{.key = kA, .amount = 5}};
  std::array<Decision, 2> decisions;
  bool taken = true;
  ASSERT_TRUE(take_group(*s.store, two, decisions, at(0s), &taken));
  EXPECT_FALSE(taken);
  EXPECT_TRUE(decisions[0].allowed());
  EXPECT_TRUE(decisions[1].never());
  EXPECT_EQ(decisions[1].remaining(), 10u);
}

TEST_P(StoreContract, GroupsAreIndependentAndInOrderAndDoneRunsOnce) {
  StoreWithLimit s(GetParam(), {3, per_second(1)});
  std::array<Charge, 6> charges;
  std::array<Decision, 6> decisions;
  std::vector<Group> groups;
  for (std::size_t i = 0; i < 3; ++i) {
    charges[2 * i] = {.key = kA, .amount = i == 1 ? 3u : 1u};
    charges[2 * i + 1] = {.key = kB, .amount = 1};
    groups.push_back({{&charges[2 * i], 2}, {&decisions[2 * i], 2}});
  }
  int runs = 0;
  s.store->take(groups, at(0s),
                {[](void* context, const Result<void>& result) {
                   EXPECT_TRUE(result);
                   ++*static_cast<int*>(context);
                 },
                 &runs});
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(groups[0].taken);
  EXPECT_FALSE(groups[1].taken);
  EXPECT_TRUE(groups[2].taken);
  EXPECT_EQ(decisions[4].remaining(), 1u);
  EXPECT_EQ(decisions[5].remaining(), 1u);
  s.store->take({}, at(0s),
                {[](void* context, const Result<void>&) { ++*static_cast<int*>(context); }, &runs});
  EXPECT_EQ(runs, 2);
}

TEST_P(StoreContract, AFullBucketEqualsAnAbsentOne) {
  // One bucket is given time, the other one is new: all answers are the same.
  StoreWithLimit s(GetParam(), {7, {3, 2s}});
  s.apply(Op::take, 7, at(0s), kA);
  const Duration full = s.apply(Op::peek, 1, at(0s), kA).reset_after();
  EXPECT_EQ(full, 4'666'666'667ns);
  for (const Op op : {Op::peek, Op::take_up_to, Op::take}) {
    for (const std::uint64_t n : {0u, 2u, 5u, 8u}) {
      const Decision old = s.apply(op, n, at(full), kA);
      const Decision fresh = s.apply(op, n, at(full), kB);
      EXPECT_EQ(old.outcome(), fresh.outcome());
      EXPECT_EQ(old.remaining(), fresh.remaining());
      EXPECT_EQ(old.retry_after(), fresh.retry_after());
      EXPECT_EQ(old.reset_after(), fresh.reset_after());
    }
  }
}

TEST_P(StoreContract, AgreesWithTheModelOnManyKeysAtOnce) {
  Dice dice(50);
  for (std::uint64_t round = 0; round < 40 * stretch(); ++round) {
    const Limit limit = any_limit(dice);
    const detail::Scale word = detail::word_scale(limit);
    const std::int64_t late = lateness_of(GetParam(), limit, Timeline::kSpan);
    StoreWithLimit s(GetParam(), limit);
    Timeline time(dice, limit);
    std::vector<FluidBucket> models(4, FluidBucket(limit));
    std::int64_t hint = time.now();
    std::int64_t latest = hint;
    for (int i = 0; i < 1000; ++i) {
      const std::int64_t now = time.next(hint);
      const std::size_t key = dice.uniform(0, 3);
      FluidBucket& model = models[key];
      // For a reading that went back, a rate that is rounded down takes less away.
      latest = std::max(latest, now);
      const std::int64_t back = now < latest ? late : 0;
      const std::uint64_t n = any_cost(dice, limit.capacity);
      const Decision d = s.apply(Op::take, n, Instant(Duration(now)), key_number(key));
      ASSERT_EQ(d.never(), n > limit.capacity) << "SUIMON_SEED=" << seed();
      if (d.allowed()) {
        ASSERT_TRUE(model.holds(earlier(now, -back), n)) << "generous, SUIMON_SEED=" << seed();
        model.remove(now, n);
      } else if (d.limited()) {
        ASSERT_FALSE(model.holds(earlier(now, late), n)) << "mean, SUIMON_SEED=" << seed();
        const std::int64_t wait = d.retry_after()->count();
        ASSERT_GE(wait, model.wait_for(now, n) - back) << "SUIMON_SEED=" << seed();
        ASSERT_LE(wait - late - lateness_of(GetParam(), limit, wait), model.wait_for(now, n))
            << "SUIMON_SEED=" << seed();
      }
      ASSERT_GE(d.remaining(), model.whole(earlier(now, late))) << "SUIMON_SEED=" << seed();
      if (earlier(now, -late) - now == late) {  // not at the end of time
        ASSERT_LE(d.remaining(), model.whole(now + late)) << "SUIMON_SEED=" << seed();
      }
      if (!d.limited() || __builtin_add_overflow(now, d.retry_after()->count(), &hint)) hint = now;
      // A word that would be the reserved 0 is one unit late: this life ends here.
      const std::uint64_t full = detail::position(word, d.at() + d.reset_after()).floor;
      if (full + word.scale <= 2 * word.scale) break;
    }
  }
}

// Sixteen threads take pairs in opposite order: nobody waits for ever, and the sums are exact.
TEST_P(StoreContract, PairsInOppositeOrderNeitherDeadlockNorLoseACharge) {
  constexpr std::uint64_t kThreads = 16;
  constexpr std::uint64_t kRounds = 2'000;
  constexpr std::uint64_t kKeys = 8;
  constexpr std::uint64_t kCapacity = 3'000;
  StoreWithLimit s(GetParam(), {kCapacity, per_day(1)});
  std::array<std::atomic<std::uint64_t>, kKeys> spent{};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        const std::uint64_t x = (i + t) % kKeys;
        const std::uint64_t y = (i * 3 + t + 1) % kKeys;
        std::array pair{Charge{.key = key_number(x)}, Charge{.key = key_number(y)}};
        if (t % 2 == 1) std::swap(pair[0], pair[1]);
        std::array<Decision, 2> decisions;
        bool taken = false;
        const auto result = take_group(*s.store, pair, decisions, at(0s), &taken);
        if (!result || !taken) continue;
        ++spent[x];
        ++spent[y];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t sum = 0;
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    EXPECT_LE(spent[key], kCapacity);
    EXPECT_EQ(s.apply(Op::peek, 1, at(0s), key_number(key)).remaining(), kCapacity - spent[key]);
    sum += spent[key];
  }
  EXPECT_GT(sum, kCapacity * (kKeys - 1));
}

// A hundred pairs of one token each at one instant, and enough for fifty: exactly fifty are taken,
// so no refusal was owed to tokens that another request held only for a moment.
TEST_P(StoreContract, RivalsAreNeverRefusedForTokensThatWereNotSpent) {
  for (std::uint64_t round = 0; round < 50; ++round) {
    StoreWithLimit s(GetParam(), {50, per_day(1)});
    std::atomic<int> taken_pairs{0};
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t i = 0; i < 50; ++i) {
          // Every other group asks for a cost that cannot be: it must not be seen by anybody.
          std::array pair{Charge{.key = kA}, Charge{.key = kB, .amount = i % 2 == 0 ? 1u : 51u}};
          if (t % 2 == 1) std::swap(pair[0], pair[1]);
          std::array<Decision, 2> decisions;
          bool taken = false;
          if (take_group(*s.store, pair, decisions, at(0s), &taken) && taken) ++taken_pairs;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(taken_pairs, 50);
  }
}

TEST_P(StoreContract, AReloadWithTheSameParametersKeepsNumberAndState) {
  StoreWithLimit s(GetParam(), {10, per_second(1)}, at(0s));
  for (int i = 0; i < 10; ++i) s.apply(Op::take, 1, at(1s));
  const ShapeNumber before = s.shape;
  int allowed = 0;
  for (int i = 0; i < 100; ++i) {
    s.change({10, per_second(1)}, at(1s + i * 10ms));
    allowed += s.apply(Op::take, 5, at(1s + i * 10ms)).allowed() ? 1 : 0;
  }
  EXPECT_EQ(s.shape, before);
  EXPECT_EQ(allowed, 0);
  EXPECT_EQ(s.apply(Op::take, 1, at(2s)).remaining(), 0u);
}

// What replaced parameters left behind is rewritten at once or at the next touch: nobody can tell,
// and a number that means something else later changes nothing.
TEST_P(StoreContract, NobodyCanTellWhenStatesWereConverted) {
  const std::uint64_t seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    const auto some = [&](std::uint64_t most) { return 1 + random() % most; };
    const auto limit = [&] {
      return Limit{some(50), {some(20), Duration(static_cast<std::int64_t>(some(20'000'000'000)))}};
    };
    const Limit first = limit();
    StoreWithLimit early(bounded(100), first, at(0s));
    StoreWithLimit late(bounded(100), first, at(0s));
    Instant now = at(0s);
    for (int step = 0; step < 40; ++step) {
      now = now + Duration(static_cast<std::int64_t>(random() % 2'000'000'000));
      if (random() % 4 == 0) {
        const Limit next = limit();
        early.change(next, now);
        late.change(next, now);
        const auto replaced = early.shapes.replaced();
        if (!early.store->convert_replaced()) GTEST_SKIP() << "this store keeps what it has";
        early.store->forget(replaced);
        early.shapes.release(replaced);
        continue;
      }
      const Key key = random() % 2 == 0 ? kA : kB;
      const std::uint64_t cost = some(10);
      const Op op = random() % 8 == 0 ? Op::force : Op::take;
      const Decision one = early.apply(op, cost, now, key);
      const Decision two = late.apply(op, cost, now, key);
      ASSERT_EQ(one.allowed(), two.allowed()) << "seed " << seed;
      ASSERT_EQ(one.remaining(), two.remaining()) << "seed " << seed;
      ASSERT_EQ(one.reset_after(), two.reset_after()) << "seed " << seed;
    }
    EXPECT_LE(early.shapes.size(), 3u);
  }
}

TEST_P(StoreContract, AChangeTakesEffectAtItsInstantNotAtTheNextTouch) {
  StoreWithLimit s(GetParam(), {10, per_second(1)}, at(0s));
  s.apply(Op::take, 10, at(0s));
  // 4 flow in at 1/s; then it is 1 per 10 s. Converted at the touch, 64 s would have filled it.
  s.change({10, {1, 10s}}, at(4s));
  EXPECT_EQ(s.apply(Op::peek, 1, at(4s)).remaining(), 4u);
  EXPECT_EQ(s.apply(Op::peek, 1, at(13'999'999'999ns)).remaining(), 4u);
  EXPECT_EQ(s.apply(Op::peek, 1, at(14s)).remaining(), 5u);
  EXPECT_EQ(s.apply(Op::take, 9, at(24s)).retry_after(), 30s);
  EXPECT_EQ(s.apply(Op::take, 6, at(24s)).remaining(), 0u);
}

TEST_P(StoreContract, SeveralChangesBetweenTwoTouchesAreAllApplied) {
  StoreWithLimit s(GetParam(), {10, per_second(1)}, at(0s));
  s.apply(Op::take, 10, at(0s));          // owes 10
  s.change({20, per_second(2)}, at(3s));  // owes 7, of 20
  s.change({20, {1, 5s}}, at(5s));        // owes 3
  s.change({4, {1, 1s}}, at(10s));        // owes 2, of 4
  EXPECT_EQ(s.apply(Op::peek, 1, at(10s)).remaining(), 2u);
  EXPECT_EQ(s.apply(Op::peek, 1, at(11s)).remaining(), 3u);
  EXPECT_EQ(s.apply(Op::peek, 1, at(12s)).remaining(), 4u);
}

TEST_P(StoreContract, AnOldSnapshotsNumberMeetsTheNewestParameters) {
  StoreWithLimit s(GetParam(), {10, per_second(1)}, at(0s));
  const ShapeNumber old = s.shape;
  s.apply(Op::take, 8, at(0s));
  s.change({3, per_second(1)}, at(0s));
  const Decision d = take_one(*s.store, {.key = kA, .amount = 1, .shape = old}, at(0s));
  EXPECT_EQ(d.capacity(), 3u);
  EXPECT_TRUE(d.limited());
  EXPECT_EQ(d.retry_after(), 6s);  // owes 8, and holds 3
}

TEST_P(StoreContract, AnotherTierIsReadAsOfTheRequestAndHandsOutNothing) {
  StoreWithLimit s(GetParam(), {10, per_second(1)}, at(0s));
  const ShapeNumber free = s.shape;
  s.change({100, per_second(10)}, at(0s), "premium");
  const ShapeNumber premium = s.shape;
  ASSERT_NE(free, premium);
  const auto charge = [](ShapeNumber shape, std::uint64_t n) {
    return Charge{.key = kA, .amount = n, .shape = shape};
  };
  EXPECT_EQ(take_one(*s.store, charge(free, 10), at(0s)).remaining(), 0u);
  // Owes 6 at 4 s, under either tier; from then on it is repaid at 10/s.
  EXPECT_EQ(take_one(*s.store, charge(premium, 10), at(4s)).remaining(), 84u);
  EXPECT_TRUE(take_one(*s.store, charge(free, 1), at(4s)).limited());
  EXPECT_EQ(take_one(*s.store, charge(premium, 84), at(4s)).remaining(), 0u);
  for (int i = 0; i < 100; ++i) {  // going to and fro mints nothing
    EXPECT_TRUE(take_one(*s.store, charge(i % 2 == 0 ? free : premium, 1), at(4s)).limited());
  }
}

// One client under two tiers, one of whose clocks lags: what flowed in at one rate does not flow in
// once more at the other.
TEST_P(StoreContract, TwoTiersAndAClockThatLagsMintNothing) {
  StoreWithLimit s(GetParam(), {60, per_second(1)}, at(0s));
  const ShapeNumber free = s.shape;
  const ShapeNumber pro = s.add("limit", {1000, per_second(50)}, at(0s), "pro");
  std::uint64_t granted = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Instant now = at(10s + i * 2us);
    granted += take_one(*s.store, {.key = kA, .shape = free}, now).granted();
    granted += take_one(*s.store, {.key = kA, .shape = pro}, now + -50ms).granted();
  }
  EXPECT_LE(granted, 1000u + 2u);  // 40 ms at 50/s
}

TEST(StoreUrls, SayWhichPartIsWrong) {
  EXPECT_TRUE(open_store("memory://"));
  EXPECT_TRUE(open_store("memory://?max_keys=5"));
  EXPECT_TRUE(open_store("reference://?max_keys=5"));
  for (const char* url : {"memory", "nowhere://", "://", ""}) {
    const auto opened = open_store(url);
    ASSERT_FALSE(opened) << url;
    EXPECT_NE(opened.error().text.find("memory://"), std::string::npos) << opened.error().text;
  }
  for (const char* url : {"memory://?max_keys=0", "memory://?max_keys=", "memory://?max_keys=-1",
                          "memory://?max_keys=4294967297", "memory://?max_keys=1x",
                          "memory://?keys=1", "memory://host"}) {
    const auto opened = open_store(url);
    ASSERT_FALSE(opened) << url;
    EXPECT_NE(opened.error().text.find("max_keys=N"), std::string::npos) << opened.error().text;
  }
}

}  // namespace
}  // namespace suimon
