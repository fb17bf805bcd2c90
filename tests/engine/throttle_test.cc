// Limits whose parameters come with the call: how many there may be, and how their numbers come
// back.
#include "suimon/engine/throttle.h"

#include <gtest/gtest.h>

#include <string>

#include "suimon/engine/live_policy.h"
#include "suimon/policy/loader.h"
#include "suimon/store/stores.h"

namespace suimon {
namespace {

using namespace std::chrono_literals;

class Throttles : public testing::TestWithParam<const char*> {
 protected:
  Throttles() : store_(std::move(*open_store(GetParam()))) {}

  Decision take(const ThrottleSet& set, std::string_view key, std::uint64_t amount = 1) {
    throttle_.wake(clock_.now());
    const auto number = throttle_.number_of(set);
    EXPECT_TRUE(number) << number.error().text;
    if (!number) return {};
    const Charge charge{.key = throttle_.key_of(ThrottleDialect::cl_throttle, key),
                        .amount = amount,
                        .shape = *number};
    Decision decision;
    Group group{{&charge, 1}, {&decision, 1}};
    throttle_.take({&group, 1}, {[](void*, const Result<void>&) {}, nullptr});
    return decision;
  }
  bool is_known(const ThrottleSet& set) {
    throttle_.wake(clock_.now());
    return throttle_.number_of(set).has_value();
  }
  // A set for each number, each full after a second.
  static ThrottleSet set(std::uint64_t i) {
    return {i + 1, Duration(1s) / static_cast<int>(i + 1)};
  }

  ManualClock clock_{Instant(1h)};
  std::unique_ptr<Store> store_;
  LivePolicy live_{*store_, Secret{{1, 2}}};
  Throttle throttle_{live_.throttles(), *store_, clock_};
};

TEST_P(Throttles, ASetIsABucket) {
  const ThrottleSet set{3, 1s};
  for (int i = 2; i >= 0; --i) EXPECT_EQ(take(set, "k").remaining(), static_cast<std::uint64_t>(i));
  EXPECT_EQ(take(set, "k").retry_after(), Duration(1s));
  EXPECT_TRUE(take(set, "another").allowed());
  clock_.advance(1s);
  EXPECT_TRUE(take(set, "k").allowed());
}

TEST_P(Throttles, AChangeOfSetKeepsWhatIsOwedInTokens) {
  take({10, 1s}, "k", 5);
  EXPECT_EQ(take({20, 1min}, "k").remaining(), 14U);
  EXPECT_EQ(take({20, 1min}, "k").reset_after(), Duration(7min));
  EXPECT_EQ(take({10, 1s}, "k").remaining(), 2U);
}

TEST_P(Throttles, WhatCannotBeCountedIsSaid) {
  EXPECT_FALSE(is_known({0, 1s}));
  EXPECT_FALSE(is_known({1, 0s}));
  EXPECT_FALSE(is_known({std::uint64_t{1} << 62, 1ns}));
  EXPECT_TRUE(is_known({(std::uint64_t{1} << 60), 1ns}));
  EXPECT_EQ(live_.throttles().used(), 1U);
}

TEST_P(Throttles, SetsAreBoundedAndPoliciesKeepTheirNumbers) {
  for (std::uint64_t i = 0; i < ThrottleSets::kMost; ++i) ASSERT_TRUE(is_known(set(i))) << i;
  EXPECT_FALSE(is_known(set(ThrottleSets::kMost)));
  EXPECT_TRUE(is_known(set(7)));
  EXPECT_EQ(live_.throttles().used(), ThrottleSets::kMost);
  EXPECT_EQ(live_.throttles().turned_away(), 1U);
  EXPECT_EQ(live_.shapes().used(), ThrottleSets::kMost);
  Loaded loaded = load_policy_text(
      "version: 1\ndomain: d\nlimits:\n"
      "  - {name: each, key: [user], token_bucket: {capacity: 2, refill: 1/min}}\n",
      "p.yaml");
  EXPECT_TRUE(live_.install(std::move(loaded.policy), clock_.now()));
}

TEST_P(Throttles, SetsThatNobodyUsesGiveWayWhenTheirBucketsAreFull) {
  const ThrottleSet slow{10, 1h};
  take(slow, "slow", 10);
  for (std::uint64_t i = 0; i + 1 < ThrottleSets::kMost; ++i) take(set(i), "k");
  EXPECT_FALSE(is_known(set(ThrottleSets::kMost)));
  for (int step = 0; step < 5; ++step) {
    clock_.advance(1min);
    live_.throttles().tidy(clock_.now());
    take(set(3), "k");  // somebody goes on using one
  }
  EXPECT_EQ(live_.throttles().used(), 2U);
  // Other sets get the numbers, and their keys begin full.
  for (std::uint64_t i = ThrottleSets::kMost; i < 2 * ThrottleSets::kMost - 2; ++i) {
    ASSERT_EQ(take(set(i), std::to_string(i)).remaining(), i) << i;
  }
  EXPECT_EQ(live_.shapes().used(), ThrottleSets::kMost);
  EXPECT_TRUE(take(slow, "slow").limited());
}

TEST_P(Throttles, ASetInUseAtEveryTidyingStays) {
  const ThrottleSet used{5, 1ms};
  take(used, "k", 5);
  for (int step = 0; step < 20; ++step) {
    clock_.advance(1h);
    EXPECT_TRUE(take(used, "k").allowed());
    live_.throttles().tidy(clock_.now());
    EXPECT_EQ(live_.throttles().used(), 1U);
  }
}

TEST_P(Throttles, ALongPauseBetweenTidyingsCountsFromTheLastCall) {
  const ThrottleSet used{5, 1min};
  take(used, "k");
  live_.throttles().tidy(clock_.now());
  clock_.advance(24h);  // the machine slept
  take(used, "k", 5);
  for (int step = 0; step < 4; ++step) {
    clock_.advance(1s);
    live_.throttles().tidy(clock_.now());
  }
  EXPECT_TRUE(take(used, "k").limited());
}

TEST_P(Throttles, ChargesThatAStoreAnswersLaterHoldUpTheTidying) {
  take({5, 1ms}, "k");
  const std::uint64_t generation = throttle_.pending();
  for (int step = 0; step < 5; ++step) {
    clock_.advance(1min);
    live_.throttles().tidy(clock_.now());
  }
  EXPECT_EQ(live_.throttles().used(), 1U);
  throttle_.answered(generation);
  for (int step = 0; step < 5; ++step) {
    clock_.advance(1min);
    live_.throttles().tidy(clock_.now());
  }
  EXPECT_EQ(live_.throttles().used(), 0U);
}

TEST_P(Throttles, TheTwoDialectsHaveBucketsOfTheirOwn) {
  EXPECT_NE(throttle_.key_of(ThrottleDialect::cl_throttle, "k"),
            throttle_.key_of(ThrottleDialect::throttle, "k"));
}

INSTANTIATE_TEST_SUITE_P(
    Stores, Throttles, testing::Values("memory://", "reference://"), [](const auto& store) {
      return std::string(store.param).substr(0, std::string(store.param).find(':'));
    });

}  // namespace
}  // namespace suimon
