#include "suimon/reply/body.h"

#include <gtest/gtest.h>

#include "suimon/reply/locales.h"
#include "tests/reply/scene.h"

namespace suimon {
namespace {

std::string refusal(const Scene& scene, std::string_view language) {
  std::string body;
  append_refusal_body(scene.facts, 429, choose_locale(language), body);
  return body;
}

bool holds(const std::string& body, std::string_view part) {
  return body.find(part) != std::string::npos;
}

TEST(CheckBody, TellsTheBindingLimitAndAllOfThem) {
  Scene scene;
  scene.add("per-user");
  std::string body;
  append_check_body(scene.facts, body);
  EXPECT_EQ(body,
            R"({"allowed":true,"binding":"per-user","remaining":9,"retry_after_ms":null,)"
            R"("reset_after_ms":500,"limits":[{"name":"per-user","allowed":true,"capacity":10,)"
            R"("remaining":9,"retry_after_ms":null,"reset_after_ms":500,"shadow":false}]})");
}

TEST(CheckBody, WithoutLimitsNothingBinds) {
  std::string body;
  append_check_body(Facts{}, body);
  EXPECT_EQ(body, R"({"allowed":true,"binding":null,"remaining":null,"retry_after_ms":null,)"
                  R"("reset_after_ms":null,"limits":[]})");
}

TEST(RefusalBody, SaysTheSecondsAndTheCureInTheCallersLanguage) {
  Scene scene;
  scene.add("per-user", Outcome::limited);
  EXPECT_TRUE(holds(
      refusal(scene, "en"),
      R"("error":"Too many requests for the limit \"per-user\"; wait 2 seconds, then try again.")"));
  EXPECT_TRUE(holds(refusal(scene, "ja"), "2秒待ってから"));
  EXPECT_TRUE(holds(refusal(scene, "ja"), "「per-user」"));
  scene.facts.limits[0].retry_after = std::chrono::milliseconds(3);
  EXPECT_TRUE(holds(refusal(scene, ""), "wait 1 second, then"));
}

TEST(RefusalBody, NamesAllViolatedPolicies) {
  Scene scene;
  scene.add("fine");
  scene.add("a", Outcome::limited);
  scene.add("b", Outcome::limited);
  const std::string body = refusal(scene, "");
  EXPECT_TRUE(holds(body, R"("violated-policies":["a","b"])"));
  EXPECT_TRUE(holds(body, "problem-types#quota-exceeded"));
  EXPECT_TRUE(holds(body, R"("status":429)"));
}

TEST(RefusalBody, NeverHasItsOwnTypeAndNoWait) {
  Scene scene;
  scene.add("a", Outcome::never).cost = 50;
  const std::string body = refusal(scene, "");
  EXPECT_TRUE(holds(body, "urn:suimon:problem:cost-exceeds-capacity"));
  EXPECT_TRUE(holds(body, R"("never":true)"));
  EXPECT_TRUE(holds(body, R"("retry_after_ms":null)"));
  EXPECT_TRUE(holds(body, "costs 50 tokens"));
}

TEST(RefusalBody, AMissingAttributeIsNamed) {
  Scene scene;
  scene.add("a", Outcome::never).missing = "x\"y";
  EXPECT_TRUE(holds(refusal(scene, ""), R"(needs the attribute \"x\"y\")"));
}

TEST(RefusalBody, HidesLimitsThatAreNotAdvertisedUnlessTheyRefused) {
  Scene scene;
  scene.add("secret").advertise = false;
  scene.add("a", Outcome::limited);
  EXPECT_FALSE(holds(refusal(scene, ""), "secret"));
  scene.facts.limits[0].outcome = Outcome::limited;
  scene.facts.limits[0].retry_after = std::chrono::seconds(1);
  EXPECT_TRUE(holds(refusal(scene, ""), "secret"));
}

TEST(RefusalBody, CallsTheLimitByItsTitleInTheCallersLanguage) {
  LimitRule rule;
  rule.titles = {{0, "requests of one user"}, {2, "Anfragen je \"Benutzer\""}};
  AnswerRule answers;
  Scene scene;
  scene.facts.answers = &answers;
  scene.add("per-user", Outcome::limited).rule = &rule;
  EXPECT_TRUE(holds(refusal(scene, "en"), R"(the limit \"requests of one user\";)"));
  EXPECT_TRUE(holds(refusal(scene, "de"), R"(das Limit „Anfragen je \"Benutzer\"“;)"));
  // No French title: the one in the policy's language.
  EXPECT_TRUE(holds(refusal(scene, "fr"), "requests of one user"));
  answers.language = 2;
  EXPECT_TRUE(holds(refusal(scene, "fr"), "Anfragen je"));
  // Not that either: the name.
  answers.language = 7;
  EXPECT_TRUE(holds(refusal(scene, "fr"), "per-user\u00a0»"));
  // Programs go by the name.
  EXPECT_TRUE(holds(refusal(scene, "de"), R"("violated-policies":["per-user"])"));
  EXPECT_TRUE(holds(refusal(scene, "de"), R"("binding":"per-user")"));
}

TEST(RefusalBody, AnyStatusKeepsAllMembers) {
  Scene scene;
  scene.add("a", Outcome::limited);
  const std::string usual = refusal(scene, "");
  for (const int status : kDenyStatuses) {
    std::string body;
    append_refusal_body(scene.facts, status, choose_locale(""), body);
    std::string expected = usual;
    expected.replace(expected.find("429"), 3, std::to_string(status));
    EXPECT_EQ(body, expected);
    EXPECT_TRUE(holds(body, R"("allowed":false)"));
    body.clear();
    append_plain_refusal_body(status, choose_locale(""), body);
    EXPECT_TRUE(holds(body, "\"status\":" + std::to_string(status)));
  }
}

TEST(RefusalBody, ShadowLimitsAreNotInIt) {
  Scene scene;
  scene.add("real", Outcome::limited);
  scene.add_shadow("trial", Outcome::limited).retry_after = std::chrono::hours(1);
  const std::string body = refusal(scene, "");
  EXPECT_FALSE(holds(body, "trial"));
  EXPECT_TRUE(holds(body, "wait 2 seconds"));
}

TEST(CheckBody, MarksShadowLimits) {
  Scene scene;
  scene.add("real");
  scene.add_shadow("trial", Outcome::limited);
  std::string body;
  append_check_body(scene.facts, body);
  EXPECT_TRUE(holds(body, R"("allowed":true,"binding":"real")"));
  EXPECT_TRUE(holds(body, R"({"name":"trial","allowed":false,)"));
  EXPECT_TRUE(holds(body, R"("shadow":true}])"));
}

}  // namespace
}  // namespace suimon
