// Limiter beyond the cases that it shares with everything that limits (cases_test.cc).

#include "suimon/limiter.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/timeline.h"

namespace suimon {
namespace {

using namespace test;

TEST(LimiterTest, EveryKeyHasItsOwnBucket) {
  Limiter limiter({.limit = {1, per_day(1)}});
  EXPECT_TRUE(limiter.check("a", 1, at(0s)).allowed());
  EXPECT_TRUE(limiter.check("a", 1, at(0s)).limited());
  EXPECT_TRUE(limiter.check("b", 1, at(0s)).allowed());
  EXPECT_TRUE(limiter.check("", 1, at(0s)).allowed());
  EXPECT_TRUE(limiter.check(std::string_view("a\0", 2), 1, at(0s)).allowed());
  EXPECT_EQ(limiter.keys(), 4u);
}

TEST(LimiterTest, ManyAtOnceAreAnsweredInOrder) {
  Limiter limiter({.limit = {2, per_day(1)}});
  const std::vector<std::string_view> keys{"a", "b", "a", "a", "b"};
  std::vector<Decision> out(keys.size());
  limiter.check_many(keys, out, at(0s));
  const std::vector<bool> expected{true, true, true, false, true};
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(out[i].allowed(), expected[i]) << i;
}

TEST(LimiterTest, LooksLeaveNoTrace) {
  Limiter limiter({.limit = {2, per_day(1)}});
  EXPECT_TRUE(limiter.peek("a", 2, at(0s)).allowed());
  EXPECT_TRUE(limiter.peek("a", 3, at(0s)).never());
  EXPECT_TRUE(limiter.check("a", 0, at(0s)).allowed());
  EXPECT_TRUE(limiter.check("a", 3, at(0s)).never());
  EXPECT_EQ(limiter.keys(), 0u);
}

TEST(LimiterTest, NewcomersShareOneBucketWhenAllOthersHaveNothingLeft) {
  Limiter limiter({.limit = {3, per_day(1)}, .max_keys = 10});
  std::uint64_t granted = 0;
  for (int i = 0; i < 1'000; ++i) {
    granted += limiter.check("user:" + std::to_string(i), 3, at(0s)).granted();
  }
  EXPECT_GE(limiter.keys(), 10u);
  EXPECT_LE(limiter.keys(), 16u);
  EXPECT_EQ(granted, 3 * (limiter.keys() + 1));
  EXPECT_EQ(limiter.overflows(), 1'000 - limiter.keys());
  EXPECT_EQ(limiter.evictions(), 0u);
}

TEST(LimiterTest, WhoOwesLittleGivesWayAndIsCounted) {
  Limiter limiter({.limit = {3, per_day(1)}, .max_keys = 10});
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_TRUE(limiter.check("user:" + std::to_string(i), 1, at(0s)).allowed());
  }
  EXPECT_EQ(limiter.evictions(), 1'000 - limiter.keys());
  EXPECT_EQ(limiter.overflows(), 0u);
}

TEST(LimiterTest, BadOptionsThrowAndMakeReturns) {
  EXPECT_THROW(Limiter({.limit = {0, per_second(1)}}), std::invalid_argument);
  EXPECT_THROW(Limiter({.limit = {1, per_second(1)}, .max_keys = 0}), std::invalid_argument);
  const auto made = Limiter::make({.limit = {1, per_second(1)}, .max_keys = (1ULL << 32) + 1});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().text.find("max_keys"), std::string::npos);
  EXPECT_TRUE(Limiter::make({.limit = {1, per_second(1)}}));
}

TEST(LimiterTest, MovesWithItsState) {
  Limiter limiter({.limit = {1, per_day(1)}});
  limiter.check("a", 1, at(0s));
  Limiter moved = std::move(limiter);
  EXPECT_TRUE(moved.check("a", 1, at(0s)).limited());
}

TEST(LimiterTest, ReadsItsOwnClockWhenNotToldTheTime) {
  Limiter limiter({.limit = {1, per_day(1)}});
  EXPECT_TRUE(limiter.check("a").allowed());
  EXPECT_TRUE(limiter.check("a").limited());
}

}  // namespace
}  // namespace suimon
