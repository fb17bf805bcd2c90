#include "suimon/policy/ruleset.h"

#include <gtest/gtest.h>

#include <set>

#include "suimon/policy/loader.h"

namespace suimon {
namespace {

// A policy from text, numbered, and the limits that it applies to a request.
class Rules {
 public:
  explicit Rules(std::string_view limits) {
    Loaded loaded = load_policy_text("version: 1\ndomain: d\n" + std::string(limits), "p.yaml");
    for (const Mistake& mistake : loaded.mistakes) ADD_FAILURE() << mistake.to_string();
    policy_ = std::move(loaded.policy);
    EXPECT_TRUE(policy_.rulesets.at(0).number_shapes(shapes_, Secret{{1, 2}}, Instant{}));
  }

  const Matched& match(std::vector<Attribute> attributes, std::uint64_t cost = 1) {
    policy_.rulesets[0].match({"", attributes, cost}, matched_, scratch_);
    return matched_;
  }

  // "name:amount" of every charge, "name!" where an attribute is missing, and "~" behind shadows.
  std::string charged(std::vector<Attribute> attributes, std::uint64_t cost = 1) {
    const Matched& matched = match(std::move(attributes), cost);
    std::string text;
    for (const Charged& side : {matched.enforced, matched.shadows}) {
      for (std::size_t i = 0; i < side.size; ++i) {
        text += (text.empty() ? "" : " ") + side.applied[i].rule->name;
        text += i < side.charged ? ":" + std::to_string(side.charges[i].amount) : "!";
        text += side.applied[i].rule->shadow ? "~" : "";
      }
    }
    return text;
  }

 private:
  Policy policy_;
  Shapes shapes_;
  Matched matched_;
  MatchScratch scratch_;
};

constexpr std::string_view kBucket = "    token_bucket: {capacity: 10, refill: 1/s}\n";

std::string limit(std::string_view head) {
  return "  - " + std::string(head) + "\n" + std::string(kBucket);
}

TEST(Match, AllNamedAttributesMustMatchAndAListMeansAny) {
  Rules rules("limits:\n" +
              limit("name: a\n    key: []\n    match: {method: [GET, HEAD], host: '*.example'}"));
  EXPECT_EQ(rules.charged({{"method", "GET"}, {"host", "a.example"}}), "a:1");
  EXPECT_EQ(rules.charged({{"method", "POST"}, {"host", "a.example"}}), "");
  EXPECT_EQ(rules.charged({{"method", "GET"}, {"host", "a.test"}}), "");
  EXPECT_EQ(rules.charged({{"method", "GET"}}), "");  // a missing attribute does not match
}

TEST(Match, AHostIsTheSameHoweverItIsWritten) {
  Rules rules("limits:\n" +
              limit("name: a\n    key: [host]\n    match: {host: '*.Example.com:80'}"));
  const auto key = [&](std::string_view host) {
    return rules.match({{"host", host}}).enforced.charges[0].key;
  };
  EXPECT_EQ(rules.charged({{"host", "API.EXAMPLE.COM:443"}}), "a:1");
  EXPECT_EQ(key("api.example.com"), key("API.example.com.:443"));
}

TEST(Match, C25b_AMissingKeyPartFollowsOnMissing) {
  Rules rules("limits:\n" + limit("name: skips\n    key: [api_key]") +
              limit("name: denies\n    key: [api_key]\n    on_missing: deny") +
              limit("name: stands-in\n    key: [api_key]\n    on_missing: {value: anonymous}") +
              limit("name: other\n    key: [client_ip]"));
  EXPECT_EQ(rules.charged({{"client_ip", "192.0.2.7"}}), "stands-in:1 other:1 denies!");
  EXPECT_EQ(rules.charged({{"client_ip", "192.0.2.7"}, {"api_key", ""}}),
            "stands-in:1 other:1 denies!");
  EXPECT_EQ(rules.charged({{"client_ip", "192.0.2.7"}, {"api_key", "k"}}),
            "skips:1 denies:1 stands-in:1 other:1");
}

TEST(Match, C27_KeyAndValueNeverRunTogether) {
  Rules rules("limits:\n" + limit("name: a\n    match: {a: b}\n    key: [a]") +
              limit("name: b\n    key: [a_b]") + limit("name: c\n    key: [x, y]"));
  const auto key = [&](std::vector<Attribute> attributes) {
    return rules.match(std::move(attributes)).enforced.charges[0].key;
  };
  EXPECT_EQ(rules.charged({{"a", "b"}}), "a:1");
  EXPECT_EQ(rules.charged({{"a_b", "x"}}), "b:1");
  EXPECT_NE(key({{"x", "aa"}, {"y", "b"}}), key({{"x", "a"}, {"y", "ab"}}));
  EXPECT_EQ(key({{"x", "aa"}, {"y", "b"}}), key({{"y", "b"}, {"x", "aa"}}));
}

TEST(Match, TheSameClientHasUnrelatedKeysInTwoLimits) {
  Rules rules("limits:\n" + limit("name: a\n    key: [user]") + limit("name: b\n    key: [user]"));
  const Matched& matched = rules.match({{"user", "u1"}});
  EXPECT_NE(matched.enforced.charges[0].key, matched.enforced.charges[1].key);
}

// So that a cluster finds what is charged together in one slot, wherever it can be.
TEST(Match, AClientHasOnePlaceInAllLimitsThatTellClientsByTheSameValues) {
  Rules rules("limits:\n" + limit("name: a\n    key: [user]") + limit("name: b\n    key: [user]") +
              limit("name: c\n    key: [user, x]"));
  std::set<std::uint64_t> places;
  for (int i = 0; i < 1'000; ++i) {
    const Matched& matched = rules.match({{"user", "u" + std::to_string(i)}, {"x", "1"}});
    const auto& charges = matched.enforced.charges;
    ASSERT_EQ(place_of(charges[0].key), place_of(charges[1].key));
    places.insert(place_of(charges[0].key));
    ASSERT_TRUE(i > 0 || place_of(charges[0].key) != place_of(charges[2].key));
  }
  EXPECT_GT(places.size(), 800u);  // of 4,096; 887 are to be expected
}

TEST(Match, C23_AddressesInOnePrefixShareAKey) {
  Rules rules("limits:\n" + limit("name: a\n    key: [client_ip]"));
  const auto key = [&](std::string_view ip) {
    return rules.match({{"client_ip", ip}}).enforced.charges[0].key;
  };
  EXPECT_EQ(key("2001:db8:1:2::1"), key("2001:DB8:1:2:0:0:0:A"));
  EXPECT_NE(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
  EXPECT_NE(key("h00001.example"), key("h00002.example"));  // no address: a client of its own
}

TEST(Match, TheFirstCostThatMatchesCountsAndZeroIsFree) {
  Rules rules("limits:\n" + limit("name: a\n    key: []\n    cost: [{match: {method: [POST, PUT]}, "
                                  "value: 5}, {match: {method: OPTIONS}, value: 0}, {value: 2}]"));
  EXPECT_EQ(rules.charged({{"method", "POST"}}), "a:5");
  EXPECT_EQ(rules.charged({{"method", "GET"}}), "a:2");
  EXPECT_EQ(rules.charged({{"method", "OPTIONS"}}), "");
  EXPECT_EQ(rules.charged({{"method", "POST"}}, 3), "a:15");
  EXPECT_EQ(rules.charged({{"method", "POST"}}, ~std::uint64_t{0}), "a:18446744073709551615");
}

TEST(Match, ALimitWithoutAKeyIsOneStateForEverybody) {
  Rules rules("limits:\n" + limit("name: all\n    key: []") + limit("name: each\n    key: [user]"));
  const Matched& matched = rules.match({{"user", "u"}});
  ASSERT_EQ(matched.enforced.charged, 2U);
  EXPECT_TRUE(matched.enforced.charges[0].keyless);
  EXPECT_FALSE(matched.enforced.charges[1].keyless);
}

TEST(Shapes, KnowTheLargestCostOfTheirLimitAlsoWhenNothingElseChanged) {
  Shapes shapes;
  const auto largest = [&](const std::string& cost) {
    Loaded loaded = load_policy_text(
        "version: 1\ndomain: d\nlimits:\n" + limit("name: a\n    key: [user]" + cost), "p.yaml");
    EXPECT_TRUE(loaded.mistakes.empty());
    const auto used = loaded.policy.rulesets.at(0).number_shapes(shapes, Secret{{1, 2}}, Instant{});
    EXPECT_EQ((*used)[0]->number, 0U);
    return (*used)[0]->largest_cost.load();
  };
  EXPECT_EQ(largest(""), 1U);
  EXPECT_EQ(largest("\n    cost: [{match: {method: POST}, value: 5}, {value: 2}]"), 5U);
  EXPECT_EQ(largest("\n    cost: [{match: {method: POST}, value: 3}]"), 3U);
}

TEST(Match, TheTierComesFromItsAttributeOrIsTheDefault) {
  Rules rules(
      "tiers:\n  free: {capacity: 10, refill: 2/s}\n  premium: {capacity: 200, refill: 50/s}\n"
      "limits:\n  - name: a\n    key: [user]\n"
      "    token_bucket: {tier: {from: plan, default: free}}\n");
  const auto capacity = [&](std::vector<Attribute> attributes) {
    return rules.match(std::move(attributes)).enforced.applied[0].bucket->parameters.capacity;
  };
  EXPECT_EQ(capacity({{"user", "u"}, {"plan", "premium"}}), 200U);
  EXPECT_EQ(capacity({{"user", "u"}, {"plan", "free"}}), 10U);
  EXPECT_EQ(capacity({{"user", "u"}, {"plan", "gold"}}), 10U);
  EXPECT_EQ(capacity({{"user", "u"}}), 10U);
}

TEST(Match, APathThatCannotBeDecodedIsSaidOnlyWhereALimitLooksAtIt) {
  Rules looks("limits:\n" + limit("name: a\n    key: []\n    match: {path: /v1/**}"));
  EXPECT_EQ(looks.match({{"path", "/v1/%zz"}}).status, Matched::Status::bad_path);
  EXPECT_EQ(looks.charged({{"path", "/v1/../v1/x?y"}}), "a:1");
  Rules blind("limits:\n" + limit("name: a\n    key: []"));
  EXPECT_EQ(blind.match({{"path", "/v1/%zz"}}).status, Matched::Status::ok);
}

TEST(Match, MoreLimitsThanOneRequestMayBringAreRefused) {
  std::string limits = "limits:\n";
  for (int i = 0; i < 17; ++i) limits += limit("name: l" + std::to_string(i) + "\n    key: []");
  Loaded loaded = load_policy_text("version: 1\ndomain: d\n" + limits, "p.yaml");
  EXPECT_FALSE(loaded.warnings.empty());
  Rules rules(limits);
  EXPECT_EQ(rules.match({}).status, Matched::Status::too_many_limits);
}

TEST(Policy, ADomainMayBeLeftOutWhenOneIsLoaded) {
  Policy policy;
  policy.rulesets.resize(1);
  policy.rulesets[0].domain = "shop";
  EXPECT_NE(policy.find(""), nullptr);
  EXPECT_NE(policy.find("shop"), nullptr);
  EXPECT_EQ(policy.find("other"), nullptr);
  policy.rulesets.resize(2);
  EXPECT_EQ(policy.find(""), nullptr);
}

TEST(Match, AnAliasBringsTheAttributeUnlessItsOwnNameDoes) {
  Rules rules("aliases: {remote_user: user}\nlimits:\n" + limit("name: a\n    key: [user]"));
  const auto key = [&](std::vector<Attribute> attributes) {
    return rules.match(std::move(attributes)).enforced.charges[0].key;
  };
  EXPECT_EQ(key({{"remote_user", "u"}}), key({{"user", "u"}}));
  EXPECT_EQ(key({{"remote_user", "u"}, {"user", "v"}}), key({{"user", "v"}}));
  EXPECT_EQ(key({{"remote_user", "u"}, {"user", ""}}), key({{"user", "u"}}));
  EXPECT_EQ(rules.charged({{"remote", "u"}}), "");
}

TEST(Match, ShadowsStandApartAndCountAmongTheSixteen) {
  std::string limits = "limits:\n" + limit("name: a\n    key: [user]") +
                       limit("name: b\n    shadow: true\n    key: [user]") +
                       limit("name: c\n    shadow: true\n    on_missing: deny\n    key: [k]");
  Rules rules(limits);
  EXPECT_EQ(rules.charged({{"user", "u"}}), "a:1 b:1~ c!~");
  EXPECT_EQ(rules.charged({{"user", "u"}, {"k", "x"}}), "a:1 b:1~ c:1~");
  for (int i = 0; i < 14; ++i) {
    limits += limit("name: s" + std::to_string(i) + "\n    shadow: true\n    key: [user]");
  }
  Rules many(limits);
  EXPECT_EQ(many.match({{"user", "u"}}).status, Matched::Status::too_many_limits);
}

}  // namespace
}  // namespace suimon
