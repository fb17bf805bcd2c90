// TokenBucket where its edges are: the worked examples are in tests/store/cases_test.cc, which
// runs them over everything that limits.

#include "suimon/token_bucket.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "tests/timeline.h"

namespace suimon {
namespace {

using namespace test;

constexpr Duration kYear = std::chrono::hours(24 * 365);

std::uint64_t word_of(const TokenBucket& bucket) {
  std::uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<const char*>(&bucket) + sizeof bucket - 8, 8);
  return word;
}

TEST(TokenBucketTest, StateIsOneWordThatRefusalsAndLooksLeaveAlone) {
  TokenBucket bucket({.capacity = 10, .refill = per_second(1)});
  ASSERT_TRUE(bucket.try_take(8, at(0s)));
  const std::uint64_t word = word_of(bucket);
  EXPECT_FALSE(bucket.try_take(3, at(0s)));
  EXPECT_TRUE(bucket.take(11, at(0s)).never());
  EXPECT_TRUE(bucket.peek(2, at(0s)).allowed());
  EXPECT_TRUE(bucket.take(0, at(0s)).allowed());
  EXPECT_TRUE(bucket.reserve(10, 1s, at(0s)).limited());
  EXPECT_TRUE(bucket.reserve(11, 100s, at(0s)).never());
  EXPECT_EQ(bucket.take_up_to(0, at(0s)).granted(), 0u);
  EXPECT_EQ(word_of(bucket), word);
}

TEST(TokenBucketTest, ALookSaysWhatATakeWouldSay) {
  TokenBucket bucket({.capacity = 5, .refill = per_second(1)});
  bucket.take(4, at(0s));
  EXPECT_EQ(bucket.peek(1, at(0s)).outcome(), Outcome::allowed);
  EXPECT_EQ(bucket.peek(1, at(0s)).remaining(), 1u);
  EXPECT_EQ(bucket.peek(2, at(0s)).retry_after(), bucket.take(2, at(0s)).retry_after());
  EXPECT_EQ(bucket.peek(6, at(0s)).outcome(), Outcome::never);
  EXPECT_EQ(bucket.peek(6, at(0s)).retry_after(), std::nullopt);
}

TEST(TokenBucketTest, CostOfNothingIsRefusedOnlyInDebt) {
  TokenBucket bucket({.capacity = 1, .refill = per_second(1)});
  EXPECT_TRUE(bucket.try_take(0, at(0s)));
  EXPECT_TRUE(bucket.try_take(1, at(0s)));
  EXPECT_TRUE(bucket.try_take(0, at(0s)));  // empty, but it owes nothing
  EXPECT_EQ(bucket.reserve(1, 5s, at(0s)).wait(), 1s);
  EXPECT_FALSE(bucket.try_take(0, at(0s)));
  EXPECT_TRUE(bucket.try_take(0, at(1s)));
}

TEST(TokenBucketTest, CostOfNothingLeavesAFullBucketFullEvenAtTheZeroOfItsWord) {
  // Where the position is 0 modulo 2^64: the first instant, and for an even p the instant 0.
  TokenBucket first({.capacity = 3, .refill = per_second(1)});
  EXPECT_EQ(first.take(0, Instant::min()).remaining(), 3u);
  EXPECT_EQ(first.take(0, Instant::min()).reset_after(), 0ns);
  TokenBucket even({.capacity = 3, .refill = {2, Duration(1'000'000'001)}});
  EXPECT_EQ(even.take(0, at(0s)).remaining(), 3u);
  EXPECT_EQ(even.take(1, at(0s)).remaining(), 2u);
}

TEST(TokenBucketTest, TheReservedWordIsOneUnitLateAndNeverEarly) {
  // Full again at the instant after the last one, where the word would be 0: it is kept as 1.
  TokenBucket bucket({.capacity = 2, .refill = {1, 10ns}});
  const Instant now(Duration::max() - 9ns);
  ASSERT_TRUE(bucket.try_take(1, now));
  EXPECT_EQ(word_of(bucket), 1u);
  EXPECT_TRUE(bucket.peek(1, now + 1ns).allowed());
  EXPECT_FALSE(bucket.peek(2, now + 9ns).allowed());
  EXPECT_TRUE(bucket.try_take(1, now + 1ns));
  EXPECT_FALSE(bucket.try_take(1, now + 9ns));
}

TEST(TokenBucketTest, RestsForEighteenYearsAtTheHighestRate) {
  TokenBucket bucket({.capacity = 100, .refill = {16, 1ns}});
  ASSERT_TRUE(bucket.try_take(100, at(0s)));
  EXPECT_TRUE(bucket.peek(100, at(18 * kYear)).allowed());
  TokenBucket slow({.capacity = 100, .refill = {1, std::chrono::hours(24 * 30)}});
  ASSERT_TRUE(slow.try_take(100, at(0s)));
  EXPECT_FALSE(slow.peek(100, at(8 * kYear)).allowed());
  EXPECT_TRUE(slow.peek(100, at(18 * kYear)).allowed());
}

TEST(TokenBucketTest, GivingBackDoesNotLetALateClockMint) {
  TokenBucket bucket({.capacity = 10, .refill = per_second(1)});
  ASSERT_TRUE(bucket.try_take(10, at(10s)));
  bucket.give_back(1, at(20s));  // it is full already
  EXPECT_FALSE(bucket.try_take(1, at(10s)));
  ASSERT_TRUE(bucket.try_take(5, at(20s)));
  bucket.give_back(7, at(20s));  // no more than was missing
  EXPECT_EQ(bucket.peek(10, at(20s)).remaining(), 10u);
  EXPECT_EQ(bucket.peek(10, at(18s)).remaining(), 8u);
}

TEST(TokenBucketTest, ReservationsTakeTurnsAndWaitExactly) {
  TokenBucket bucket({.capacity = 1, .refill = per_second(1)});
  EXPECT_EQ(bucket.reserve(1, 10s, at(0s)).wait(), 0s);
  EXPECT_EQ(bucket.reserve(1, 10s, at(0s)).wait(), 1s);
  EXPECT_EQ(bucket.reserve(1, 10s, at(0s)).wait(), 2s);
  EXPECT_TRUE(bucket.reserve(1, 2'999'999'999ns, at(0s)).limited());
  EXPECT_EQ(bucket.reserve(1, 3s, at(0s)).wait(), 3s);
  EXPECT_TRUE(bucket.reserve(1, -5s, at(0s)).limited());
  EXPECT_TRUE(bucket.reserve(1, Duration::max(), at(0s)).allowed());
}

TEST(TokenBucketTest, ReservationsOfCoarseUnitsAreNotEarly) {
  // A capacity this large leaves units of about a microsecond: the last nanosecond counts.
  const Limit limit{.capacity = 1ULL << 60, .refill = {1, 1us}};
  TokenBucket bucket(limit);
  ASSERT_TRUE(bucket.try_take(1ULL << 60, at(0s)));
  EXPECT_GE(bucket.reserve(1, 1s, at(0s)).wait(), 1us);
  EXPECT_GE(bucket.reserve(2, 1s, at(0s)).wait(), 3us);
  EXPECT_LE(bucket.reserve(1, 1s, at(0s)).wait(), 7us);
}

TEST(TokenBucketTest, TakeUpToTakesWhatIsThere) {
  TokenBucket bucket({.capacity = 5, .refill = per_second(1)});
  EXPECT_EQ(bucket.take_up_to(3, at(0s)).granted(), 3u);
  EXPECT_EQ(bucket.take_up_to(3, at(0s)).granted(), 2u);
  EXPECT_EQ(bucket.take_up_to(3, at(999'999'999ns)).granted(), 0u);
  EXPECT_EQ(bucket.take_up_to(~0ULL, at(1s)).granted(), 1u);
}

TEST(TokenBucketTest, ACopyGoesItsOwnWay) {
  TokenBucket bucket({.capacity = 2, .refill = per_second(1)});
  bucket.take(1, at(0s));
  TokenBucket copy = bucket;
  EXPECT_TRUE(copy.try_take(1, at(0s)));
  EXPECT_FALSE(copy.try_take(1, at(0s)));
  EXPECT_TRUE(bucket.try_take(1, at(0s)));
}

TEST(TokenBucketTest, ReadsItsOwnClockWhenNotToldTheTime) {
  TokenBucket bucket({.capacity = 2, .refill = per_day(1)});
  EXPECT_TRUE(bucket.try_take());
  EXPECT_TRUE(bucket.take().allowed());
  EXPECT_FALSE(bucket.try_take());
  EXPECT_FALSE(bucket.peek().allowed());
  bucket.give_back();
  EXPECT_TRUE(bucket.try_take());
}

TEST(LimitTest, SaysWhatIsWrongAndWhatWouldBeRight) {
  const auto why = [](const Limit& limit) {
    const auto valid = validate(limit);
    return valid ? std::string() : valid.error().text;
  };
  EXPECT_EQ(why({1, per_second(1)}), "");
  EXPECT_EQ(why({1ULL << 60, {16, 1ns}}), "");
  EXPECT_NE(why({0, per_second(1)}).find("at least 1"), std::string::npos);
  EXPECT_NE(why({(1ULL << 60) + 1, per_second(1)}).find("2^60"), std::string::npos);
  EXPECT_NE(why({1, per_second(0)}).find("at least 1"), std::string::npos);
  EXPECT_NE(why({1, {1, 0s}}).find("longer than 0"), std::string::npos);
  EXPECT_NE(why({1, {1, -5s}}).find("longer than 0"), std::string::npos);
  EXPECT_NE(why({1, {17, 1ns}}).find("16 tokens per nanosecond"), std::string::npos);
  EXPECT_NE(why({1ULL << 60, per_day(1)}).find("73,000 years"), std::string::npos);
}

TEST(LimitTest, HugeNumeratorsDoNotOverflowTheCheck) {
  // Just below 16 per nanosecond, in lowest terms: filling takes 2 years.
  const Limit limit{1ULL << 60, {(1ULL << 58) + 1, Duration(1LL << 56)}};
  EXPECT_TRUE(validate(limit)) << validate(limit).error().text;
  TokenBucket bucket(limit);
  EXPECT_TRUE(bucket.try_take(1ULL << 60, at(0s)));
  EXPECT_FALSE(bucket.try_take(1, at(0s)));
}

TEST(LimitTest, ConstructorsThrowAndMakeReturns) {
  EXPECT_THROW(TokenBucket({.capacity = 0, .refill = per_second(1)}), std::invalid_argument);
  EXPECT_FALSE(TokenBucket::make({.capacity = 1, .refill = per_second(0)}));
  auto made = TokenBucket::make({.capacity = 1, .refill = per_second(1)});
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->try_take(1, at(0s)));
}

TEST(InstantTest, SaturatesInsteadOfOverflowing) {
  EXPECT_EQ(Instant::max() + 1ns, Instant::max());
  EXPECT_EQ(Instant::min() + (-1ns), Instant::min());
  EXPECT_EQ(Instant::max() - Instant::min(), Duration::max());
  EXPECT_EQ(Instant::min() - Instant::max(), Duration::min());
  EXPECT_EQ((at(3s) - at(5s)), -2s);
}

}  // namespace
}  // namespace suimon
