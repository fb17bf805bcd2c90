#include "suimon/engine/corrections.h"

#include <gtest/gtest.h>

#include "suimon/engine/engine.h"
#include "suimon/policy/loader.h"
#include "suimon/store/stores.h"

namespace suimon {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPolicy = R"(
version: 1
domain: shop
tiers:
  free: {capacity: 10, refill: 1/s}
  premium: {capacity: 100, refill: 1/s}
limits:
  - name: per-user
    match: {method: POST}
    key: [user]
    token_bucket: {capacity: 10, refill: 1/s}
    cost: 3
  - name: whole
    key: []
    token_bucket: {capacity: 50, refill: 1/s}
  - name: plans
    match: {path: /v1/**}
    key: [user]
    token_bucket: {tier: {from: plan, default: free}}
  - name: watched
    match: {path: /watched}
    key: [user]
    shadow: true
    token_bucket: {capacity: 2, refill: 1/s}
  - name: strict
    match: {path: /strict}
    key: [api_key]
    on_missing: deny
    token_bucket: {capacity: 1, refill: 1/s}
)";

class Silent final : public Observer {
 public:
  void decided(DoorId, const Verdict&) override {}
};

// The exact map and the table: what is given back must be there in both.
class CorrectionsTest : public testing::TestWithParam<std::string> {
 protected:
  CorrectionsTest() {
    Loaded loaded = load_policy_text(kPolicy, "p.yaml");
    EXPECT_TRUE(loaded.ok());
    EXPECT_TRUE(live_->install(std::move(loaded.policy), clock_.now()));
  }

  static constexpr Attribute kUser{"user", "u1"};
  static constexpr std::array<Attribute, 2> kPost{kUser, {"method", "POST"}};

  bool ask(std::span<const Attribute> attributes, std::uint64_t cost = 1) {
    Engine engine(*live_, *store_, silent_, clock_);
    const Request request{"", attributes, cost};
    bool allowed = false;
    engine.decide({&request, 1}, 0,
                  {[](void* context, std::span<const Verdict> verdicts) {
                     *static_cast<bool*>(context) = verdicts.front().allowed();
                   },
                   &allowed});
    return allowed;
  }

  // "per-user 7, whole 49", or the mistake.
  std::string told(const Result<void>& asked) const { return asked ? heard_ : asked.error().text; }
  Corrections::Heard hear() {
    heard_.clear();
    return [this](const Corrected& corrected) {
      ASSERT_FALSE(corrected.failed);
      for (std::size_t i = 0; i < corrected.decisions.size(); ++i) {
        key_ = corrected.charges[i].key;
        heard_ += (i == 0 ? "" : ", ") + corrected.applied[i].rule->name + " " +
                  std::to_string(corrected.decisions[i].remaining());
      }
    };
  }
  std::string refund(std::span<const Attribute> attributes, std::uint64_t cost = 1) {
    return told(corrections_->refund({"", attributes, cost}, hear()));
  }
  std::string look(std::string_view limit, std::span<const Attribute> attributes) {
    return told(corrections_->look({"", limit, {}, attributes, ""}, hear()));
  }
  std::string reset(std::string_view limit, std::span<const Attribute> attributes) {
    return told(corrections_->reset({"", limit, {}, attributes, ""}, hear()));
  }

  ManualClock clock_{Instant{1h}};
  Silent silent_;
  std::unique_ptr<Store> store_ = std::move(*open_store(GetParam() + "://?max_keys=1000"));
  std::unique_ptr<LivePolicy> live_ = std::make_unique<LivePolicy>(*store_, Secret{{1, 2}});
  std::unique_ptr<Corrections> corrections_ =
      std::make_unique<Corrections>(*live_, *store_, clock_);
  std::string heard_;
  Key key_;
};

TEST_P(CorrectionsTest, ARefundGivesBackWhatTheRequestWasCharged) {
  EXPECT_TRUE(ask(kPost, 2));
  EXPECT_EQ(look("per-user", {&kUser, 1}), "per-user 4");
  EXPECT_EQ(refund(kPost, 2), "per-user 10, whole 50");
}

TEST_P(CorrectionsTest, OnlyTheLimitsThatAppliedAreRefunded) {
  EXPECT_TRUE(ask(kPost));
  EXPECT_EQ(refund({&kUser, 1}), "whole 50");
  EXPECT_EQ(look("per-user", {&kUser, 1}), "per-user 7");
}

TEST_P(CorrectionsTest, NoBucketBecomesMoreThanFull) {
  EXPECT_TRUE(ask(kPost));
  EXPECT_EQ(refund(kPost, 3), "per-user 10, whole 50");
  EXPECT_TRUE(ask(kPost, 3));
  EXPECT_FALSE(ask(kPost));
  EXPECT_EQ(look("per-user", {&kUser, 1}), "per-user 1");
}

TEST_P(CorrectionsTest, WhatCannotHaveBeenChargedIsNotRefunded) {
  EXPECT_TRUE(ask(kPost, 3));
  EXPECT_NE(refund(kPost, 4).find("above the capacity of the limit per-user"), std::string::npos);
  EXPECT_NE(refund(kPost, 0).find("cost: 0 was never charged"), std::string::npos);
  const Attribute strict{"path", "/strict"};
  EXPECT_NE(refund({&strict, 1}).find("attributes.api_key is missing"), std::string::npos);
  const Attribute broken{"path", "no slash"};
  EXPECT_NE(refund({&broken, 1}).find("attributes.path cannot be decoded"), std::string::npos);
  EXPECT_EQ(look("per-user", {&kUser, 1}), "per-user 1");
}

TEST_P(CorrectionsTest, ALookNeedsTheKeyAndNothingElse) {
  EXPECT_EQ(look("per-user", {&kUser, 1}), "per-user 10") << "whatever the limit's match says";
  EXPECT_NE(look("per-user", {}).find("attributes.user is missing"), std::string::npos);
  EXPECT_EQ(look("whole", {}), "whole 50");
  EXPECT_NE(look("nobody", {}).find("write one of per-user, whole, plans, watched, strict"),
            std::string::npos);
  for (int i = 0; i < 100; ++i) look("per-user", {&kUser, 1});
  EXPECT_EQ(look("per-user", {&kUser, 1}), "per-user 10") << "it charges nothing";
}

TEST_P(CorrectionsTest, AHashNamesTheSameKeyAsItsAttributes) {
  EXPECT_TRUE(ask(kPost));
  look("per-user", {&kUser, 1});
  const Key hash = key_;
  EXPECT_EQ(told(corrections_->look({"shop", "per-user", hash, {}, ""}, hear())), "per-user 7");
  EXPECT_EQ(told(corrections_->reset({"shop", "per-user", hash, {}, ""}, hear())), "per-user 10");
  EXPECT_EQ(look("per-user", {&kUser, 1}), "per-user 10");
  EXPECT_NE(told(corrections_->look({"shop", "per-user", hash, {}, "gold"}, hear())).find("tier"),
            std::string::npos);
}

TEST_P(CorrectionsTest, ATierIsFoundByItsAttributeOrByItsName) {
  const std::array<Attribute, 3> premium{kUser, {"path", "/v1/a"}, {"plan", "premium"}};
  EXPECT_TRUE(ask(premium, 40));
  const std::array<Attribute, 2> plan{kUser, {"plan", "premium"}};
  EXPECT_EQ(look("plans", plan), "plans 60");
  EXPECT_EQ(told(corrections_->look({"", "plans", key_, {}, "premium"}, hear())), "plans 60");
  EXPECT_EQ(told(corrections_->look({"", "plans", key_, {}, ""}, hear())), "plans 0");
  EXPECT_NE(told(corrections_->look({"", "plans", key_, {}, "gold"}, hear()))
                .find("write one of free, premium"),
            std::string::npos);
}

TEST_P(CorrectionsTest, AResetFillsABucketThatOwesMoreThanItsCapacity) {
  const std::array<Attribute, 3> premium{kUser, {"path", "/v1/a"}, {"plan", "premium"}};
  EXPECT_TRUE(ask(premium, 45));
  // As the free plan sees it, 45 of 10 tokens are owed.
  EXPECT_EQ(look("plans", {&kUser, 1}), "plans 0");
  EXPECT_EQ(reset("plans", {&kUser, 1}), "plans 10");
  const std::array<Attribute, 2> plan{kUser, {"plan", "premium"}};
  EXPECT_EQ(look("plans", plan), "plans 100");
}

TEST_P(CorrectionsTest, ALimitWithoutAKeyIsResetForEverybody) {
  EXPECT_TRUE(ask({&kUser, 1}, 50));
  EXPECT_FALSE(ask({&kUser, 1}));
  EXPECT_EQ(reset("whole", {}), "whole 50");
  EXPECT_TRUE(ask({&kUser, 1}, 50));
}

TEST_P(CorrectionsTest, AShadowIsRefundedWithTheOthersButNotWhatItCannotHaveTaken) {
  const std::array<Attribute, 2> watched{kUser, {"path", "/watched"}};
  EXPECT_TRUE(ask(watched, 2));
  EXPECT_EQ(look("watched", {&kUser, 1}), "watched 0");
  EXPECT_EQ(refund(watched, 2), "whole 50, watched 2");
  EXPECT_TRUE(ask(watched, 3));
  EXPECT_EQ(refund(watched, 3), "whole 50");
}

TEST_P(CorrectionsTest, AClockThatLagsMintsNothingAfterAReset) {
  EXPECT_TRUE(ask(kPost, 3));
  EXPECT_EQ(reset("per-user", {&kUser, 1}), "per-user 10");
  EXPECT_TRUE(ask(kPost, 3));
  clock_.advance(-60s);
  EXPECT_FALSE(ask(kPost));
}

INSTANTIATE_TEST_SUITE_P(Stores, CorrectionsTest, testing::Values("memory", "reference"),
                         [](const auto& store) { return store.param; });

}  // namespace
}  // namespace suimon
