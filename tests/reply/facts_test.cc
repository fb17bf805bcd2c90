#include "suimon/reply/facts.h"

#include <gtest/gtest.h>

#include <random>

#include "suimon/token_bucket.h"
#include "tests/reply/scene.h"

namespace suimon {
namespace {

using namespace std::chrono_literals;

TEST(Binding, IsTheLimitThatRefusedWithTheLongestWait) {
  Scene scene;
  scene.add("fine");
  scene.add("short", Outcome::limited).retry_after = 1s;
  scene.add("long", Outcome::limited).retry_after = 2s;
  EXPECT_EQ(scene.facts.binding()->name, "long");
  EXPECT_EQ(scene.facts.retry_after(), Duration(2s));
  scene.add("never", Outcome::never);
  EXPECT_EQ(scene.facts.binding()->name, "never");
  EXPECT_EQ(scene.facts.retry_after(), std::nullopt);
}

TEST(Binding, IsElseTheOneWithTheFewestRequestsLeft) {
  Scene scene;
  scene.add("many").remaining = 9;
  LimitFacts& dear = scene.add("dear");
  dear.remaining = 20;
  dear.cost = 5;  // four more of these
  EXPECT_EQ(scene.facts.binding()->name, "dear");
  dear.advertise = false;
  EXPECT_EQ(scene.facts.binding(/*advertised_only=*/true)->name, "many");
  EXPECT_EQ(Facts{}.binding(), nullptr);
}

TEST(Binding, AShadowLimitNeverBinds) {
  Scene scene;
  scene.add("real");
  scene.add_shadow("trial", Outcome::limited);
  EXPECT_EQ(scene.facts.binding()->name, "real");
  Scene alone;
  alone.add_shadow("trial", Outcome::limited);
  EXPECT_EQ(alone.facts.binding(), nullptr);
}

TEST(DenyStatus, IsThatOfTheLimitThatRefusedElseThatOfThePolicy) {
  Scene scene;
  EXPECT_EQ(scene.facts.deny_status(), 429);
  AnswerRule answers;
  answers.deny_status = 403;
  scene.facts.answers = &answers;
  EXPECT_EQ(scene.facts.deny_status(), 403);
  LimitRule unavailable;
  unavailable.deny_status = 503;
  scene.add("fine").rule = &unavailable;
  scene.add("a", Outcome::limited);
  EXPECT_EQ(scene.facts.deny_status(), 403) << "the other limit has not refused";
  LimitFacts& longer = scene.add("longer", Outcome::limited);
  longer.retry_after = 1h;
  longer.rule = &unavailable;
  EXPECT_EQ(scene.facts.deny_status(), 503) << "the binding one decides";
  LimitRule plain;
  scene.add("never", Outcome::never).rule = &plain;
  EXPECT_EQ(scene.facts.deny_status(), 403);
}

TEST(FindRules, FindsWhatThePolicyInForceSays) {
  Policy policy;
  policy.rulesets.resize(2);
  policy.rulesets[0].domain = "other";
  policy.rulesets[1].domain = "shop";
  policy.rulesets[1].answers.deny_status = 503;
  policy.rulesets[1].limits.resize(2);
  policy.rulesets[1].limits[1].name = "a";
  Scene scene;
  scene.facts.domain = "shop";
  scene.add("a");
  scene.add("gone since");
  find_rules(policy, scene.facts);
  EXPECT_EQ(scene.facts.answers, &policy.rulesets[1].answers);
  EXPECT_EQ(scene.facts.limits[0].rule, &policy.rulesets[1].limits[1]);
  EXPECT_EQ(scene.facts.limits[1].rule, nullptr);

  Scene stranger;
  stranger.facts.domain = "gone";
  stranger.add("a");
  find_rules(policy, stranger.facts);
  EXPECT_EQ(stranger.facts.deny_status(), 429);
  EXPECT_EQ(stranger.facts.limits[0].rule, nullptr);
}

TEST(Waits, AreRoundedUpAndRetryAfterIsAtLeastOne) {
  EXPECT_EQ(ceil_seconds(0ns), 0);
  EXPECT_EQ(ceil_seconds(1ns), 1);
  EXPECT_EQ(ceil_seconds(1s), 1);
  EXPECT_EQ(ceil_seconds(1s + 1ns), 2);
  EXPECT_EQ(ceil_to(1200us, 1ms), 2);
  EXPECT_EQ(retry_after_seconds(0ns), 1);
  EXPECT_EQ(retry_after_seconds(Duration::max()), 9'223'372'037);
}

TEST(Waits, C12_WhoeverWaitsAsToldIsAllowed) {
  TokenBucket bucket({.capacity = 1, .refill = {1, 10s}});
  EXPECT_TRUE(bucket.try_take(1, Instant(900ms)));
  EXPECT_EQ(retry_after_seconds(*bucket.take(1, Instant(1s)).retry_after()), 10);
  EXPECT_EQ(retry_after_seconds(*bucket.take(1, Instant(10899ms)).retry_after()), 1);
  EXPECT_TRUE(bucket.try_take(1, Instant(11s)));
}

TEST(Waits, C12_ALoneClientIsNeverRefusedTwiceInARow) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 10'000; ++i) {
    TokenBucket bucket({.capacity = 1 + random() % 5,
                        .refill = {1 + random() % 7, Duration(1 + random() % 100'000'000'000)}});
    Instant now(Duration(static_cast<std::int64_t>(random() % 1'000'000'000'000)));
    while (bucket.try_take(1, now))
      now = now + Duration(static_cast<std::int64_t>(random() % 1000));
    const Decision refused = bucket.take(1, now);
    const auto told = std::chrono::seconds(retry_after_seconds(*refused.retry_after()));
    ASSERT_TRUE(bucket.try_take(1, now + told)) << "seed " << seed << " round " << i;
  }
}

}  // namespace
}  // namespace suimon
