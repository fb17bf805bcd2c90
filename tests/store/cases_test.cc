// Cases from production, by their names, over everything that limits.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "suimon/core/identity.h"
#include "tests/store/subjects.h"

namespace suimon {
namespace {

using namespace test;

constexpr Duration kYear = std::chrono::hours(24 * 365);

class Cases : public testing::TestWithParam<std::string> {
 protected:
  // The bucket of this test from here on.
  void bucket(std::uint64_t capacity, std::uint64_t tokens, Duration period) {
    subject_ = make_subject(GetParam(), {capacity, {tokens, period}});
  }
  Decision take(std::uint64_t n, Duration when) { return subject_->take(n, at(when)); }
  Decision peek(std::uint64_t n, Duration when) { return subject_->peek(n, at(when)); }
  // How many of `times` requests for one token are allowed at one instant.
  int allowed(int times, Duration when) {
    int count = 0;
    for (int i = 0; i < times; ++i) count += take(1, when).allowed() ? 1 : 0;
    return count;
  }

 private:
  std::unique_ptr<Subject> subject_;
};

INSTANTIATE_TEST_SUITE_P(All, Cases, testing::ValuesIn(subjects()), test_name);

TEST_P(Cases, WorkedExample_FiveRequestsLeaveFiveAndFiveSecondsLaterThereAreTen) {
  bucket(10, 1, 1s);
  EXPECT_EQ(allowed(5, 0s), 5);
  EXPECT_EQ(peek(1, 0s).remaining(), 5u);
  EXPECT_EQ(peek(1, 5s).remaining(), 10u);
  EXPECT_EQ(peek(1, 500s).remaining(), 10u);
}

TEST_P(Cases, WorkedExample_OfFifteenRequestsTenAreAllowedAndFiveRefused) {
  bucket(10, 1, 1s);
  EXPECT_EQ(allowed(15, 0s), 10);
}

TEST_P(Cases, WorkedExample_BucketSizeTenRefillTwoPerSecond) {
  bucket(10, 2, 1s);
  EXPECT_EQ(allowed(15, 0s), 10);
  EXPECT_EQ(take(1, 0s).retry_after(), 500ms);
  EXPECT_EQ(allowed(5, 1s), 2);
  EXPECT_EQ(allowed(15, 6s), 10);
  EXPECT_EQ(peek(1, 6s).reset_after(), 5s);
}

TEST_P(Cases, C01_LongIdleTimeDoesNotOverflowTheRefill) {
  bucket(700'000, 700'000, 1h);
  EXPECT_EQ(take(1, 0s).remaining(), 699'999u);
  EXPECT_EQ(take(1, 12h).remaining(), 699'999u);
  const Decision all = take(700'000, 12h + 10 * kYear);
  EXPECT_TRUE(all.allowed());
  EXPECT_EQ(all.remaining(), 0u);
  EXPECT_EQ(take(1, 12h + 10 * kYear).retry_after(), 5'142'858ns);
}

TEST_P(Cases, C03_AThousandPerMinuteWithABurst) {
  bucket(1001, 1000, 60s);
  EXPECT_EQ(take(1, 0s).remaining(), 1000u);
  EXPECT_EQ(take(1, 0s).remaining(), 999u);
  EXPECT_EQ(allowed(1000, 0s), 999);
  const Decision refused = take(1, 0s);
  EXPECT_TRUE(refused.limited());
  EXPECT_EQ(refused.remaining(), 0u);
  EXPECT_EQ(refused.retry_after(), 60ms);
  EXPECT_EQ(refused.reset_after(), 60'060ms);
  EXPECT_EQ(header_seconds(*refused.retry_after()), 1);
  EXPECT_EQ(header_seconds(refused.reset_after()), 61);
}

TEST_P(Cases, C03_MoreThanOneTokenPerMillisecond) {
  bucket(21, 1500, 1s);
  EXPECT_EQ(take(1, 0s).remaining(), 20u);
  bucket(1, 2000, 1s);
  EXPECT_TRUE(take(1, 0s).allowed());
  EXPECT_TRUE(take(1, 499'999ns).limited());
  EXPECT_TRUE(take(1, 500'000ns).allowed());
  bucket(2, 8000, 1s);
  EXPECT_TRUE(take(1, 0s).allowed());
  EXPECT_EQ(allowed(5, 0s), 1);
  EXPECT_TRUE(take(1, 124'999ns).limited());
  EXPECT_TRUE(take(1, 125'000ns).allowed());
}

TEST_P(Cases, C05a_AllowedAtThePromisedInstantAndNotBefore) {
  bucket(1, 1, 1h);
  EXPECT_TRUE(take(1, 0s).allowed());
  EXPECT_EQ(take(1, 1'979'657'712'173ns).retry_after(), 1'620'342'287'827ns);
  EXPECT_EQ(take(1, 3'599'999'999'999ns).retry_after(), 1ns);
  EXPECT_TRUE(take(1, 3'600'000'000'000ns).allowed());
}

TEST_P(Cases, C05c_PollingDoesNotThrowFractionsAway) {
  bucket(1, 1, 10s);
  EXPECT_TRUE(take(1, 0s).allowed());
  for (int second = 1; second <= 9; ++second) {
    EXPECT_TRUE(take(1, std::chrono::seconds(second)).limited()) << second;
  }
  EXPECT_TRUE(take(1, 10s).allowed());
}

TEST_P(Cases, C08_AlternatingEarlierAndLaterTimesMintNothing) {
  bucket(1, 1, 1s);
  int count = 0;
  for (int i = 0; i < 100; ++i) count += allowed(1, 10s) + allowed(1, 9s);
  EXPECT_EQ(count, 1);
  EXPECT_TRUE(take(1, 10'999'999'999ns).limited());
  EXPECT_TRUE(take(1, 11s).allowed());
}

TEST_P(Cases, C08_AFirstRequestInThePastLeavesTheBucketAsItFoundIt) {
  bucket(10, 1, 1s);
  EXPECT_EQ(allowed(20, 100s), 10);
  EXPECT_EQ(allowed(20, 0s), 0);
  EXPECT_EQ(allowed(20, 105s), 5);
  EXPECT_EQ(take(1, 0s).retry_after(), 106s);
}

TEST_P(Cases, C08_ThreadsWithTimesReadBeforeTheCallStayWithinTheLimit) {
  constexpr int kThreads = 16;
  constexpr int kTakes = 100'000;
  bucket(100, 1'000'000, 1s);
  std::atomic<std::uint64_t> taken{0};
  std::atomic<std::int64_t> first{std::numeric_limits<std::int64_t>::max()};
  std::atomic<std::int64_t> last{std::numeric_limits<std::int64_t>::min()};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::uint64_t mine = 0;
      std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
      std::int64_t latest = std::numeric_limits<std::int64_t>::min();
      for (int i = 0; i < kTakes; ++i) {
        const Instant now = boot_now();
        earliest = std::min(earliest, now.ns);
        latest = std::max(latest, now.ns);
        if (take(1, Duration(now.ns)).allowed()) ++mine;
      }
      taken += mine;
      for (auto seen = first.load();
           earliest < seen && !first.compare_exchange_weak(seen, earliest);) {
      }
      for (auto seen = last.load(); latest > seen && !last.compare_exchange_weak(seen, latest);) {
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto span = static_cast<std::uint64_t>(last - first);
  EXPECT_LE(taken, 100 + span / 1000);
  EXPECT_GE(taken, 100u);
}

TEST_P(Cases, C10a_TheWaitCountsFromTheTokenThatIsMissing) {
  bucket(5, 5, 1s);
  EXPECT_EQ(allowed(5, 0s), 5);
  EXPECT_EQ(take(1, 0s).retry_after(), 200ms);
  EXPECT_TRUE(take(1, 199'999'999ns).limited());
  EXPECT_TRUE(take(1, 200'000'000ns).allowed());
}

TEST_P(Cases, C10b_AfterALongPauseTheBurstIsTheCapacity) {
  bucket(5, 5, 1s);
  EXPECT_EQ(allowed(10, 0s), 5);
  EXPECT_EQ(allowed(10, 2s), 5);
}

TEST_P(Cases, C10e_WaitsAreNeverNegative) {
  bucket(5, 5, 1s);
  EXPECT_EQ(allowed(5, 10s), 5);
  const Decision late = take(1, 9s);
  EXPECT_TRUE(late.limited());
  EXPECT_EQ(late.remaining(), 0u);
  EXPECT_EQ(late.reset_after(), 2s);
  EXPECT_EQ(late.retry_after(), 1200ms);
  EXPECT_EQ(peek(1, 11s).reset_after(), 0s);
  EXPECT_EQ(peek(1, 500s).reset_after(), 0s);
  EXPECT_EQ(peek(1, 500s).next_token_after(), std::nullopt);
}

TEST_P(Cases, C12_WhoWaitsAsLongAsTheHeaderSaysIsAllowed) {
  bucket(1, 1, 10s);
  EXPECT_TRUE(take(1, 900ms).allowed());
  EXPECT_EQ(header_seconds(*take(1, 1s).retry_after()), 10);
  EXPECT_EQ(header_seconds(*take(1, 10'899ms).retry_after()), 1);
  EXPECT_TRUE(take(1, 11s).allowed());
}

TEST_P(Cases, C12_ALoneClientIsAllowedAfterTheHeaderAtEveryPhase) {
  Dice dice(30);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t capacity = dice.any_size(1, 100);
    if (i % 100 == 0) {
      bucket(capacity, dice.any_size(1, 1000), Duration(dice.any_size(1000, 3'600'000'000'000)));
    }
    const Duration phase(static_cast<std::int64_t>(i) * 100'000'000'000'000 +
                         static_cast<std::int64_t>(dice.uniform(0, 10'000'000'000)));
    Decision decision;
    for (int n = 0; n < 200 && !decision.limited(); ++n) decision = take(1, phase);
    ASSERT_TRUE(decision.limited() || decision.allowed());
    if (!decision.limited()) continue;
    const auto header = std::chrono::seconds(header_seconds(*decision.retry_after()));
    ASSERT_TRUE(take(1, phase + header).allowed()) << "SUIMON_SEED=" << seed();
  }
}

TEST_P(Cases, C16_ImpossibleCostsTakeNothingAndPinNothing) {
  bucket(10, 1, 10s);
  EXPECT_TRUE(take(8, 0s).allowed());
  const Decision five = take(5, 0s);
  EXPECT_TRUE(five.limited());
  EXPECT_EQ(five.retry_after(), 30s);
  EXPECT_EQ(five.remaining(), 2u);
  EXPECT_EQ(take(2, 0s).remaining(), 0u);

  bucket(10, 1, 10s);
  EXPECT_TRUE(take(8, 0s).allowed());
  const Decision million = take(1'000'000, 0s);
  EXPECT_TRUE(million.never());
  EXPECT_EQ(million.retry_after(), std::nullopt);
  EXPECT_EQ(million.remaining(), 2u);
  EXPECT_EQ(million.reset_after(), 80s);
  EXPECT_TRUE(take(2, 0s).allowed());
}

TEST_P(Cases, C17a_CapacityZeroIsRefusedAndNeverUnlimited) {
  try {
    bucket(0, 1, 1s);
    FAIL() << "a capacity of 0 was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("write at least 1"), std::string::npos);
  }
}

// The cases of one client in several limits, and of debts, are about stores.
class StoreCases : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, StoreCases, testing::ValuesIn(contract_urls()), test_name);

TEST_P(StoreCases, C13_TheBroadLimitIsNotConsumedByWhatTheNarrowOneRefused) {
  auto store = *open_any_store(GetParam());
  Shapes shapes;
  const Shape* group =
      *shapes.assign("group", "", Algorithm::token_bucket, {10, per_minute(10)}, at(0s));
  const Shape* route =
      *shapes.assign("route", "", Algorithm::token_bucket, {3, per_minute(3)}, at(0s));
  ASSERT_TRUE(store->adopt(std::array{group, route}));
  const std::array both{Charge{.key = kA, .shape = group->number},
                        Charge{.key = kB, .shape = route->number}};
  int allowed = 0;
  for (int i = 0; i < 5; ++i) {
    std::array<Decision, 2> decisions;
    bool taken = false;
    ASSERT_TRUE(take_group(*store, both, decisions, at(5s), &taken));
    allowed += taken ? 1 : 0;
    EXPECT_EQ(taken, decisions[0].allowed() && decisions[1].allowed());
    EXPECT_TRUE(decisions[0].allowed());  // its own status, also when the other one refuses
    EXPECT_EQ(decisions[0].remaining(), i < 3 ? 9u - static_cast<unsigned>(i) : 7u);
    EXPECT_EQ(decisions[1].allowed(), i < 3);
    if (i >= 3) {
      EXPECT_EQ(decisions[1].retry_after(), 20s);
    }
  }
  EXPECT_EQ(allowed, 3);
  allowed = 0;
  for (int i = 0; i < 8; ++i) allowed += take_one(*store, both[0], at(5s)).allowed() ? 1 : 0;
  EXPECT_EQ(allowed, 7);
}

TEST_P(StoreCases, C17b_ADebtIsEarnedBeforeItPaysOut) {
  StoreWithLimit store(GetParam(), {50, per_second(50)});
  const Decision forced = store.apply(Op::force, 57, at(0s));
  EXPECT_TRUE(forced.allowed());
  EXPECT_EQ(forced.remaining(), 0u);
  EXPECT_EQ(forced.wait(), 140ms);
  for (const auto& [when, there] : {std::pair{0ms, 0u}, {140ms, 0u}, {160ms, 1u}}) {
    const Decision some = store.apply(Op::take_up_to, 5, at(when));
    EXPECT_EQ(some.granted(), there);
    EXPECT_EQ(some.remaining(), 0u);
    EXPECT_EQ(some.wait(), 0ns);
  }
}

TEST_P(StoreCases, C27_KeysThatRunTogetherAreCountedApart) {
  auto store = *open_any_store(GetParam());
  Shapes shapes;
  const Secret secret = random_secret();
  const auto series = [&](std::string_view limit, std::initializer_list<std::string_view> parts) {
    const Shape* shape =
        *shapes.assign(limit, "", Algorithm::token_bucket, {1, per_day(1)}, at(0s));
    EXPECT_TRUE(store->adopt({&shape, 1}));
    std::string encoded;
    for (const std::string_view part : parts) append_part(encoded, part);
    const Charge charge{.key = key_of(derive(secret, "table", limit), encoded),
                        .shape = shape->number};
    EXPECT_TRUE(take_one(*store, charge, at(1s)).allowed());
    EXPECT_TRUE(take_one(*store, charge, at(1s)).limited());
  };
  series("A", {"a", "b"});
  series("B", {"a_b", "x"});
  series("C", {"aa", "b"});
  series("C", {"a", "ab"});
}

}  // namespace
}  // namespace suimon
