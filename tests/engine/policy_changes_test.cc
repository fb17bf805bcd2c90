// What the log says of a reload: every difference by name, and nothing that is the same.

#include "suimon/engine/policy_changes.h"

#include <gtest/gtest.h>

#include "suimon/policy/loader.h"

namespace suimon {
namespace {

constexpr std::string_view kShop = R"(version: 1
domain: shop
attributes:
  user: {header: X-User-Id}
  plan: {header: X-Plan}
tiers:
  free: {capacity: 10, refill: 2/s}
  basic: {capacity: 20, refill: 5/s}
limits:
  - name: by-plan
    key: [user]
    token_bucket: {tier: {from: plan, default: free}}
  - name: orders
    match: {path: /v1/orders/**, method: [POST, PUT]}
    key: [user]
    token_bucket: {capacity: 10, refill: 1 per 5s}
    cost: 5
)";

Policy shop() {
  Loaded loaded = load_policy_text(kShop, "shop.yaml");
  EXPECT_TRUE(loaded.ok());
  return std::move(loaded.policy);
}

// kShop with `old` replaced everywhere.
Policy shop_with(std::string_view old, std::string_view instead) {
  std::string text(kShop);
  EXPECT_NE(text.find(old), std::string::npos) << old;
  for (auto at = text.find(old); at != std::string::npos;
       at = text.find(old, at + instead.size())) {
    text.replace(at, old.size(), instead);
  }
  Loaded loaded = load_policy_text(text, "shop.yaml");
  EXPECT_TRUE(loaded.ok()) << loaded.mistakes.front().to_string();
  return std::move(loaded.policy);
}

std::string told(const Policy& after) {
  const Policy before = shop();
  const PolicyChanges changes = changes_between(&before, after);
  std::string text;
  for (const std::string& name : changes.added) text += "added " + name + "\n";
  for (const Change& change : changes.changed) text += "changed " + change.to_string() + "\n";
  for (const std::string& name : changes.removed) text += "removed " + name + "\n";
  for (const Change& change : changes.domains) text += "changed " + change.to_string() + "\n";
  EXPECT_EQ(changes.any(), !text.empty());
  return text + std::to_string(changes.unchanged) + " unchanged";
}

TEST(PolicyChanges, TheSameFileChangesNothing) {
  EXPECT_EQ(told(shop()), "2 unchanged");
  EXPECT_EQ(told(shop_with("match: {path: /v1/orders/**, method: [POST, PUT]}",
                           "match: {method: [POST, PUT], path: /v1/orders/**}")),
            "2 unchanged");
}

TEST(PolicyChanges, TheFirstPolicyAddsItsLimits) {
  const PolicyChanges changes = changes_between(nullptr, shop());
  EXPECT_EQ(changes.added, (std::vector<std::string>{"shop/by-plan", "shop/orders"}));
  EXPECT_TRUE(changes.removed.empty() && changes.changed.empty() && changes.domains.empty());
}

TEST(PolicyChanges, ParametersAreToldFromWhatToWhat) {
  EXPECT_EQ(told(shop_with("{capacity: 10, refill: 1 per 5s}", "{capacity: 30, refill: 300/min}")),
            "changed shop/orders: capacity 10 -> 30, refill 1 per 5s -> 300/min\n1 unchanged");
}

TEST(PolicyChanges, TiersAreToldByName) {
  EXPECT_EQ(told(shop_with("{capacity: 20, refill: 5/s}", "{capacity: 25, refill: 5/s}")),
            "changed shop/by-plan: tier basic capacity 20 -> 25\n1 unchanged");
  EXPECT_EQ(told(shop_with("  basic:", "  gold:")),
            "changed shop/by-plan: tier gold added, tier basic removed\n1 unchanged");
  EXPECT_EQ(told(shop_with("default: free", "default: basic")),
            "changed shop/by-plan: default tier free -> basic\n1 unchanged");
  EXPECT_EQ(told(shop_with("from: plan", "from: user")),
            "changed shop/by-plan: tier from plan -> user\n1 unchanged");
}

TEST(PolicyChanges, AKeyAMatchACostAreNamed) {
  EXPECT_EQ(told(shop_with("key: [user]\n    token_bucket: {capacity: 10, refill: 1 per 5s}",
                           "key: [plan]\n    token_bucket: {capacity: 10, refill: 1 per 5s}")),
            "changed shop/orders: key [user] -> [plan]\n1 unchanged");
  EXPECT_EQ(told(shop_with("/v1/orders/**", "/v1/orders/*")),
            "changed shop/orders: match\n1 unchanged");
  EXPECT_EQ(told(shop_with("[POST, PUT]", "[POST]")), "changed shop/orders: match\n1 unchanged");
  EXPECT_EQ(told(shop_with("cost: 5", "cost: 4")), "changed shop/orders: cost\n1 unchanged");
  EXPECT_EQ(told(shop_with("cost: 5", "cost: 5\n    on_missing: {value: nobody}")),
            "changed shop/orders: on_missing skip -> {value: nobody}\n1 unchanged");
}

TEST(PolicyChanges, WhatAnswersSayIsNamed) {
  Policy after = shop();
  LimitRule& orders = after.rulesets[0].limits[1];
  orders.advertise = false;
  orders.shadow = true;
  orders.deny_status = 503;
  orders.titles = {{0, "Orders"}};
  after.rulesets[0].answers.headers = {2};
  EXPECT_EQ(told(after),
            "changed shop/orders: advertise true -> false, shadow false -> true, deny status none "
            "-> 503, title\nchanged shop: responses\n1 unchanged");
}

TEST(PolicyChanges, WhatADomainSaysForAllOfItsLimitsIsNamed) {
  EXPECT_EQ(told(shop_with("X-Plan", "X-Tier")), "changed shop: attributes\n2 unchanged");
  EXPECT_EQ(told(shop_with("domain: shop\n", "domain: shop\nclient_ip: {from: peer}\n")),
            "changed shop: client_ip\n2 unchanged");
  EXPECT_EQ(told(shop_with("domain: shop\n", "domain: shop\naliases: {remote: client_ip}\n")),
            "changed shop: aliases\n2 unchanged");
}

TEST(PolicyChanges, AnotherNameIsAnotherLimit) {
  EXPECT_EQ(told(shop_with("name: orders", "name: buys")),
            "added shop/buys\nremoved shop/orders\n1 unchanged");
  EXPECT_EQ(told(shop_with("domain: shop", "domain: store")),
            "added store/by-plan\nadded store/orders\nremoved shop/by-plan\nremoved "
            "shop/orders\n0 unchanged");
}

TEST(PolicyChanges, SettingsThatNeedARestartAreNamedAsInTheFile) {
  Settings before;
  before.server.http = "127.0.0.1:8080";
  EXPECT_TRUE(changed_settings(before, before).empty());
  Settings after = before;
  after.server.http.reset();
  after.server.timeouts.drain = std::chrono::seconds(5);
  after.store.url = "memory://";
  after.log.per_second = 5;
  EXPECT_EQ(changed_settings(before, after),
            (std::vector<std::string>{"server.http", "server.timeouts.drain", "store.url",
                                      "log.per_second"}));
}

}  // namespace
}  // namespace suimon
