#include "suimon/policy/explain.h"

#include <gtest/gtest.h>

#include "suimon/policy/loader.h"
#include "tests/timeline.h"

namespace suimon {
namespace {

using Why = ExplainedLimit::Why;

constexpr std::string_view kPolicy =
    "version: 1\ndomain: shop\n"
    "tiers:\n  free: {capacity: 10, refill: 1/s}\n  gold: {capacity: 90, refill: 9/s}\n"
    "limits:\n"
    "  - {name: per-user, key: [user], token_bucket: {tier: {from: plan, default: free}},\n"
    "     cost: [{match: {method: [GET, HEAD]}, value: 0}, {match: {method: POST}, value: 5}]}\n"
    "  - {name: payments, match: {path: [/v1/payments/**, /pay], method: POST}, key: [api_key],\n"
    "     on_missing: deny, token_bucket: {capacity: 7, refill: 1/s}}\n"
    "  - {name: guests, key: [user, client_ip], on_missing: {value: anonymous},\n"
    "     token_bucket: {capacity: 20, refill: 1/s}}\n"
    "  - {name: all, key: [], shadow: true, match: {host: '*.example'}, token_bucket: {capacity: "
    "99, refill: "
    "1/s}}\n";

class ExplainTest : public testing::Test {
 protected:
  ExplainTest() {
    Loaded loaded = load_policy_text(kPolicy, "p.yaml");
    for (const Mistake& mistake : loaded.mistakes) ADD_FAILURE() << mistake.to_string();
    policy_ = std::move(loaded.policy);
    EXPECT_TRUE(policy_.rulesets.at(0).number_shapes(shapes_, Secret{{1, 2}}, Instant{}));
  }
  const Ruleset& rules() const { return policy_.rulesets[0]; }
  ExplainedLimit told(std::string_view name, std::vector<Attribute> attributes) {
    const auto all = explain(rules(), {"", attributes, 1});
    EXPECT_TRUE(all);
    for (const ExplainedLimit& limit : *all) {
      if (limit.rule->name == name) return limit;
    }
    ADD_FAILURE() << "no limit " << name;
    return {};
  }

  Policy policy_;
  Shapes shapes_;
};

TEST_F(ExplainTest, WhichMatcherFailedAndWhatItWasComparedWith) {
  const ExplainedLimit limit =
      told("payments", {{"path", "/v1//orders?x=1"}, {"method", "POST"}, {"api_key", "k"}});
  EXPECT_EQ(limit.why, Why::mismatch);
  EXPECT_FALSE(limit.applies());
  ASSERT_EQ(limit.match.size(), 2U);
  for (const ExplainedMatcher& matcher : limit.match) {
    if (matcher.attribute == "path") {
      EXPECT_EQ(matcher.value, "/v1/orders");
      EXPECT_EQ(matcher.patterns, (std::vector<std::string>{"/v1/payments/**", "/pay"}));
      EXPECT_FALSE(matcher.matches);
    } else {
      EXPECT_EQ(matcher.attribute, "method");
      EXPECT_TRUE(matcher.matches);
    }
  }
}

TEST_F(ExplainTest, WhichAttributeIsMissingAndWhatFollows) {
  const ExplainedLimit denied = told("payments", {{"path", "/pay"}, {"method", "POST"}});
  EXPECT_EQ(denied.why, Why::denied);
  EXPECT_TRUE(denied.applies());
  EXPECT_EQ(denied.missing, "api_key");
  EXPECT_FALSE(denied.hash);
  const ExplainedLimit skipped = told("per-user", {{"method", "POST"}});
  EXPECT_EQ(skipped.why, Why::skipped);
  EXPECT_EQ(skipped.missing, "user");
  const ExplainedLimit guests = told("guests", {{"client_ip", "2001:db8::1"}});
  EXPECT_EQ(guests.why, Why::applies);
  EXPECT_EQ(guests.key, (std::vector<std::pair<std::string, std::string>>{
                            {"user", "anonymous"}, {"client_ip", "2001:db8::/64"}}));
}

TEST_F(ExplainTest, WhichTierAndWhichCost) {
  const ExplainedLimit gold =
      told("per-user", {{"user", "u"}, {"plan", "gold"}, {"method", "POST"}});
  EXPECT_EQ(gold.bucket->tier, "gold");
  EXPECT_EQ(gold.cost, 5U);
  EXPECT_EQ(gold.cost_rule, &gold.rule->cost[1]);
  const ExplainedLimit other =
      told("per-user", {{"user", "u"}, {"plan", "tin"}, {"method", "PUT"}});
  EXPECT_EQ(other.bucket->tier, "free");
  EXPECT_EQ(other.tier_attribute, "plan");
  EXPECT_EQ(other.tier_asked, "tin");
  EXPECT_EQ(other.cost_rule, nullptr);
  EXPECT_EQ(told("per-user", {{"user", "u"}, {"method", "GET"}}).why, Why::free);
}

TEST_F(ExplainTest, APathThatCannotBeDecodedIsNotExplained) {
  const std::vector<Attribute> attributes = {{"path", "/%zz"}};
  EXPECT_FALSE(explain(rules(), {"", attributes, 1}));
}

// What is explained is what happens, under the same hash and in the same bucket.
TEST_F(ExplainTest, ExplainsWhatMatchFinds) {
  test::Dice dice(17);
  const std::vector<std::pair<std::string_view, std::vector<std::string_view>>> choices = {
      {"user", {"u1", "u2", ""}},
      {"plan", {"free", "gold", "tin"}},
      {"method", {"GET", "POST", "PUT"}},
      {"path", {"/pay", "/v1/payments/1", "/v1/x"}},
      {"api_key", {"k", ""}},
      {"client_ip", {"192.0.2.1", "2001:db8::1", "x"}},
      {"host", {"a.example", "A.Example:80", "a.test"}}};
  Matched matched;
  MatchScratch scratch;
  for (int round = 0; round < 2000; ++round) {
    std::vector<Attribute> attributes;
    for (const auto& [name, values] : choices) {
      if (dice.one_in(3)) continue;
      attributes.push_back({name, values[dice.uniform(0, values.size() - 1)]});
    }
    const Request request{"", attributes, 1};
    rules().match(request, matched, scratch);
    ASSERT_EQ(matched.status, Matched::Status::ok);
    std::size_t applying = 0;
    const auto told = explain(rules(), request);
    ASSERT_TRUE(told);
    for (const ExplainedLimit& limit : *told) {
      const Charged& side = limit.rule->shadow ? matched.shadows : matched.enforced;
      std::size_t i = 0;
      while (i < side.size && side.applied[i].rule != limit.rule) ++i;
      ASSERT_EQ(limit.applies(), i < side.size) << limit.rule->name;
      if (!limit.applies()) continue;
      ++applying;
      EXPECT_EQ(limit.bucket, side.applied[i].bucket);
      EXPECT_EQ(limit.cost, side.applied[i].cost);
      ASSERT_EQ(limit.hash.has_value(), i < side.charged);
      if (limit.hash) {
        EXPECT_EQ(*limit.hash, side.charges[i].key);
      }
    }
    EXPECT_EQ(applying, matched.enforced.size + matched.shadows.size);
  }
}

}  // namespace
}  // namespace suimon
