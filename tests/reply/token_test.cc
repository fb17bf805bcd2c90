#include "suimon/reply/token.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/reply/scene.h"

namespace suimon {
namespace {

using namespace std::chrono_literals;

std::string token_of(const Facts& facts, int status = 429) {
  std::string token;
  append_token(facts, status, token);
  return token;
}

TEST(Token, WhoseOutcomeNoneOfItsLimitsHadIsRefused) {
  Told told;
  EXPECT_TRUE(parse_token("1 l 429 shop a,l,1,1,1,0,1,1,5,5,", told));
  EXPECT_FALSE(parse_token("1 n 429 shop a,l,1,1,1,0,1,1,5,5,", told));
  EXPECT_FALSE(parse_token("1 l 429 shop a,a,1,1,1,0,1,1,-,5,", told));
}

TEST(Token, BringsBackWhatItWasMadeOf) {
  Scene scene;
  LimitFacts& first = scene.add("per-user", Outcome::limited);
  first.retry_after = 123456789ns;
  first.next_token_after = 5ns;
  first.capacity = ~std::uint64_t{0};
  LimitFacts& second = scene.add("whole.service_1", Outcome::never);
  second.advertise = false;
  second.missing = "x y,z\n%";
  scene.facts.domain = "shop of\t1";
  const std::string token = token_of(scene.facts, 503);
  EXPECT_EQ(token.find_first_of("\r\n"), std::string::npos);

  Told told;
  ASSERT_TRUE(parse_token(token, told));
  EXPECT_EQ(told.status, 503);
  EXPECT_EQ(told.facts.domain, "shop of\t1");
  ASSERT_EQ(told.facts.size, 2U);
  EXPECT_EQ(told.facts.outcome, Outcome::never);
  EXPECT_EQ(told.facts.limits[0].name, "per-user");
  EXPECT_EQ(told.facts.limits[0].retry_after, Duration(123456789ns));
  EXPECT_EQ(told.facts.limits[0].next_token_after, Duration(5ns));
  EXPECT_EQ(told.facts.limits[0].capacity, ~std::uint64_t{0});
  EXPECT_FALSE(told.facts.limits[1].advertise);
  EXPECT_EQ(told.facts.limits[1].missing, "x y,z\n%");
  EXPECT_EQ(token_of(told.facts, told.status), token);
}

TEST(Token, CarriesEveryStatusThatARefusalMayHave) {
  Scene scene;
  scene.add("a", Outcome::limited);
  for (const int status : kDenyStatuses) {
    Told told;
    ASSERT_TRUE(parse_token(token_of(scene.facts, status), told));
    EXPECT_EQ(told.status, status);
  }
}

TEST(Token, NeedsNoDomain) {
  Scene scene;
  scene.add("a", Outcome::limited);
  Told told;
  ASSERT_TRUE(parse_token(token_of(scene.facts), told));
  EXPECT_EQ(told.facts.domain, "");
  EXPECT_EQ(told.facts.limits[0].name, "a");
}

TEST(Token, LeavesShadowLimitsOut) {
  Scene scene;
  scene.add("real", Outcome::limited);
  scene.add_shadow("trial", Outcome::limited);
  Told told;
  ASSERT_TRUE(parse_token(token_of(scene.facts), told));
  ASSERT_EQ(told.facts.size, 1U);
  EXPECT_EQ(told.facts.limits[0].name, "real");
}

TEST(Token, WhatSuimonHasNotWrittenIsRefused) {
  Told told;
  for (const char* bad : {"",
                          "1",
                          "1 ",
                          "2 l 429 a,l,1,10,1,0,5,5,5,5,",
                          "1 x 429 d",
                          "1 l 99 d",
                          "1 l 429 d ",
                          "1 l 429 d a",
                          "1 l 429 d a,l,1,10,1,0,5,5,-,5,",
                          "1 l 429 d a,l,1,10,1,0,5,5,-5,5,",
                          "1 l 429 d ,l,1,10,1,0,5,5,5,5,",
                          "1 l 429 d a b,l,1,10,1,0,5,5,5,5,",
                          "1 l 204 d a,l,1,10,1,0,5,5,5,5,",
                          "1 l 429 d a%22%0d%0ax,l,1,10,1,0,5,5,5,5,",
                          "1 l 429 d <b>,l,1,10,1,0,5,5,5,5,",
                          "1 l 429 d %6,l,1,10,1,0,5,5,5,5,",
                          "1 l 429 d%0 a,l,1,10,1,0,5,5,5,5,",
                          "1 l 429 d,e a,l,1,10,1,0,5,5,5,5,",
                          "1 l 429 d d a,l,1,10,1,0,5,5,5,5,",
                          "1 l 429 d a,l,1,99999999999999999999999,1,0,5,5,5,5,"}) {
    const bool read = parse_token(bad, told).has_value();
    if (std::string_view(bad) == "1 l 429 d ") {
      EXPECT_TRUE(read);  // no limit is named: a refusal of which nothing more is known
    } else {
      EXPECT_FALSE(read) << bad;
    }
  }
}

TEST(Token, SeventeenLimitsAreTooMany) {
  std::string token = "1 l 429 d";
  for (int i = 0; i < 17; ++i) token += " a,l,1,10,1,0,5,5,5,5,";
  Told told;
  EXPECT_FALSE(parse_token(token, told));
}

TEST(Token, MutatedTokensNeverBreakAnything) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  Scene scene;
  scene.add("a", Outcome::limited);
  scene.add("b").missing = "x%";
  const std::string good = token_of(scene.facts);
  int refused = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string bad = good;
    for (auto n = 1 + random() % 4; n > 0; --n) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    Told told;
    refused += parse_token(bad, told) ? 0 : 1;
  }
  EXPECT_GT(refused, 10'000);
}

}  // namespace
}  // namespace suimon
