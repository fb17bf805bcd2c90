#include "suimon/reply/headers.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/reply/scene.h"

namespace suimon {
namespace {

using namespace std::chrono_literals;

// 2026-11-30 12:00:00.25 UTC
constexpr Instant kNow(Duration(1'796'040'000'250'000'000));

std::string fields(const Scene& scene) {
  const ManualClock wall(kNow);
  std::string head;
  append_decision_fields(scene.facts, wall, head);
  return head;
}

// The same in the dialects that a policy lists.
std::string fields_in(std::vector<std::uint8_t> dialects, Scene scene) {
  AnswerRule answers;
  answers.headers = std::move(dialects);
  scene.facts.answers = &answers;
  return fields(scene);
}

constexpr std::uint8_t kIetf = 0;
constexpr std::uint8_t kIetf11 = 1;
constexpr std::uint8_t kXRateLimit = 2;
constexpr std::uint8_t kXRateLimitEpoch = 3;

TEST(IetfHeaders, NameThePoliciesAndTheBindingLimit) {
  Scene scene;
  scene.add("per-address").remaining = 9;
  LimitFacts& user = scene.add("per-user");
  user.remaining = 3;
  user.capacity = 100;
  user.window = 500ms;  // less than a second: no w
  user.next_token_after = 1001ms;
  EXPECT_EQ(fields(scene),
            "RateLimit-Policy: \"per-address\";q=10;w=5, \"per-user\";q=100\r\n"
            "RateLimit: \"per-user\";r=3;t=2\r\n");
}

TEST(IetfHeaders, AFullBucketHasNoTime) {
  Scene scene;
  LimitFacts& full = scene.add("a");
  full.remaining = 10;
  full.next_token_after = std::nullopt;
  EXPECT_EQ(fields(scene), "RateLimit-Policy: \"a\";q=10;w=5\r\nRateLimit: \"a\";r=10\r\n");
}

TEST(IetfHeaders, ARefusalSaysWhenToRetry) {
  Scene scene;
  scene.add("a", Outcome::limited);
  EXPECT_EQ(fields(scene),
            "RateLimit-Policy: \"a\";q=10;w=5\r\nRateLimit: \"a\";r=0;t=2\r\nRetry-After: 2\r\n");
}

TEST(IetfHeaders, NeverHasNoRetryAfter) {
  Scene scene;
  scene.add("a", Outcome::never);
  EXPECT_EQ(fields(scene).find("Retry-After"), std::string::npos);
}

TEST(IetfHeaders, WhatIsLeftForEverybodyIsNobodysBusiness) {
  Scene scene;
  scene.add("whole-service", Outcome::limited).advertise = false;
  EXPECT_EQ(fields(scene), "Retry-After: 2\r\n");
  scene.add("a");
  EXPECT_EQ(fields(scene),
            "RateLimit-Policy: \"a\";q=10;w=5\r\nRateLimit: \"a\";r=9;t=2\r\nRetry-After: 2\r\n");
}

TEST(IetfHeaders, NumbersStayWithinFifteenDigits) {
  Scene scene;
  scene.add("a").capacity = std::uint64_t{1} << 60;
  EXPECT_NE(fields(scene).find("q=999999999999999;"), std::string::npos);
}

TEST(IetfHeaders, NoNameEndsItsString) {
  Scene scene;
  scene.add("a\"b\\c\r\nX: y\x7f\xc3\xa9");
  EXPECT_EQ(fields(scene),
            "RateLimit-Policy: \"a\\\"b\\\\c??X: y???\";q=10;w=5\r\n"
            "RateLimit: \"a\\\"b\\\\c??X: y???\";r=9;t=1\r\n");
}

TEST(IetfHeaders, ShadowLimitsAreNotInThem) {
  Scene alone;
  alone.add_shadow("trial", Outcome::limited);
  EXPECT_EQ(fields(alone), "");
  EXPECT_EQ(fields_in({kXRateLimit}, alone), "");
  Scene scene;
  scene.add("a");
  scene.add_shadow("trial", Outcome::limited);
  EXPECT_EQ(fields(scene), "RateLimit-Policy: \"a\";q=10;w=5\r\nRateLimit: \"a\";r=9;t=1\r\n");
}

TEST(XRateLimitHeaders, TellTheBindingLimit) {
  Scene scene;
  scene.add("many");
  LimitFacts& few = scene.add("few");
  few.capacity = 60;
  few.remaining = 3;
  few.reset_after = 56'001ms;
  EXPECT_EQ(fields_in({kXRateLimit}, scene),
            "X-RateLimit-Limit: 60\r\nX-RateLimit-Remaining: 3\r\nX-RateLimit-Reset: 57\r\n");
  // 12:00:00.25 and 56.001 s: full at 12:00:56.251, told as the next whole second.
  EXPECT_EQ(fields_in({kXRateLimitEpoch}, scene),
            "X-RateLimit-Limit: 60\r\nX-RateLimit-Remaining: 3\r\n"
            "X-RateLimit-Reset: 1796040057\r\n");
}

TEST(XRateLimitHeaders, AFullBucketIsResetNow) {
  Scene scene;
  LimitFacts& full = scene.add("a");
  full.remaining = 10;
  full.reset_after = 0ns;
  EXPECT_TRUE(fields_in({kXRateLimit}, scene).ends_with("Reset: 0\r\n"));
  EXPECT_TRUE(fields_in({kXRateLimitEpoch}, scene).ends_with("Reset: 1796040001\r\n"));
}

TEST(XRateLimitHeaders, LeaveOutWhatIsNotAdvertised) {
  Scene scene;
  scene.add("whole-service", Outcome::limited).advertise = false;
  for (const std::uint8_t dialect : {kXRateLimit, kXRateLimitEpoch}) {
    EXPECT_EQ(fields_in({dialect}, scene), "Retry-After: 2\r\n");
  }
  scene.add("a").remaining = 4;
  EXPECT_EQ(fields_in({kXRateLimit}, scene),
            "X-RateLimit-Limit: 10\r\nX-RateLimit-Remaining: 4\r\nX-RateLimit-Reset: 1\r\n"
            "Retry-After: 2\r\n");
}

TEST(XRateLimitHeaders, ALimitThatLacksItsAttributeHasCountedNothing) {
  Scene scene;
  scene.add("a", Outcome::never).missing = "user";
  EXPECT_EQ(fields_in({kXRateLimit}, scene), "");
  EXPECT_EQ(fields_in({kXRateLimitEpoch}, scene), "");
}

TEST(XRateLimitHeaders, ResetIsNeverEarlierThanTheTruth) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 5'000; ++i) {
    Scene scene;
    scene.add("a").reset_after = Duration(static_cast<std::int64_t>(random() >> 24));
    const ManualClock wall(kNow + Duration(static_cast<std::int64_t>(random() >> 24)));
    std::string head;
    header_dialects()[kXRateLimitEpoch].append(scene.facts, wall, head);
    const std::int64_t told = std::stoll(head.substr(head.rfind(':') + 2));
    const std::int64_t truth = (wall.now() + scene.facts.limits[0].reset_after).ns;
    EXPECT_GE(told * 1'000'000'000, truth);
    EXPECT_LT((told - 1) * 1'000'000'000, truth);
  }
}

TEST(HeaderDialects, AreThoseThatThePolicyLists) {
  Scene scene;
  scene.add("a", Outcome::limited);
  const std::string ietf = "RateLimit-Policy: \"a\";q=10;w=5\r\nRateLimit: \"a\";r=0;t=2\r\n";
  const std::string old =
      "X-RateLimit-Limit: 10\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 1\r\n";
  const std::string wait = "Retry-After: 2\r\n";
  EXPECT_EQ(fields_in({kIetf}, scene), ietf + wait);
  EXPECT_EQ(fields_in({kIetf11}, scene), ietf + wait);
  EXPECT_EQ(fields_in({kIetf, kXRateLimit}, scene), ietf + old + wait);
  EXPECT_EQ(fields_in({kXRateLimit, kIetf}, scene), old + ietf + wait);
  EXPECT_EQ(fields_in({}, scene), wait) << "a refusal always says when to come back";
}

TEST(HeaderDialects, OfTwoThatWriteTheSameFieldsTheFirstIsWritten) {
  Scene scene;
  scene.add("a");
  EXPECT_EQ(fields_in({kIetf, kIetf11, kIetf}, scene), fields_in({kIetf}, scene));
  EXPECT_EQ(fields_in({kXRateLimit, kXRateLimitEpoch}, scene), fields_in({kXRateLimit}, scene));
  EXPECT_EQ(fields_in({kXRateLimitEpoch, kXRateLimit}, scene),
            fields_in({kXRateLimitEpoch}, scene));
}

TEST(HeaderDialects, EveryRegisteredOneWritesWholeLinesForEveryKindOfVerdict) {
  std::vector<Scene> scenes(5);
  scenes[0].add("a");
  scenes[1].add("a", Outcome::limited);
  scenes[2].add("a", Outcome::never);
  scenes[3].add("a", Outcome::never).missing = "user";
  scenes[3].add("c\r\nd: \"");
  const ManualClock wall(kNow);
  std::set<std::string_view> names;
  for (const HeaderDialect& dialect : header_dialects()) {
    EXPECT_TRUE(names.insert(dialect.name).second) << dialect.name << " stands twice";
    for (const Scene& scene : scenes) {
      std::string head;
      dialect.append(scene.facts, wall, head);
      EXPECT_TRUE(head.empty() || head.ends_with("\r\n")) << dialect.name;
      for (std::size_t at = 0; at < head.size(); at = head.find('\n', at) + 1) {
        EXPECT_TRUE(head.substr(at).starts_with(dialect.fields)) << dialect.name << ": " << head;
      }
    }
  }
  EXPECT_EQ(names.size(), kHeaderDialectNames.size());
}

}  // namespace
}  // namespace suimon
