#include "suimon/reply/headers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/reply/scene.h"

namespace suimon {
namespace {

using namespace std::chrono_literals;

std::string fields(const Scene& scene) {
  std::string head;
  append_decision_fields(scene.facts, head);
  return head;
}

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
            "RateLimit-Policy: \"a\";q=10;w=5\r\nRateLimit: \"a\";r=9;t=1\r\nRetry-After: 2\r\n");
}

TEST(IetfHeaders, NumbersStayWithinFifteenDigits) {
  Scene scene;
  scene.add("a").capacity = std::uint64_t{1} << 60;
  EXPECT_NE(fields(scene).find("q=999999999999999;"), std::string::npos);
}

TEST(HeaderDialects, EveryRegisteredOneWritesWholeLinesForEveryKindOfVerdict) {
  std::vector<Scene> scenes(5);
  scenes[0].add("a");
  scenes[1].add("a", Outcome::limited);
  scenes[2].add("a", Outcome::never);
  scenes[3].add("a", Outcome::never).missing = "user";
  std::set<std::string_view> names;
  for (const HeaderDialect& dialect : header_dialects()) {
    EXPECT_TRUE(names.insert(dialect.name).second) << dialect.name << " stands twice";
    for (const Scene& scene : scenes) {
      std::string head;
      dialect.append(scene.facts, head);
      EXPECT_TRUE(head.empty() || head.ends_with("\r\n")) << dialect.name;
      EXPECT_EQ(std::count(head.begin(), head.end(), '\n'),
                std::count(head.begin(), head.end(), ':'));
    }
  }
  EXPECT_FALSE(names.empty());
}

}  // namespace
}  // namespace suimon
