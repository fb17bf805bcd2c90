// Several requests that are decided as one, as Envoy's descriptors are.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "suimon/engine/engine.h"
#include "suimon/policy/loader.h"
#include "suimon/store/reference.h"

namespace suimon {
namespace {

using Attributes = std::vector<Attribute>;

struct Part {
  Attributes attributes;
  std::uint64_t cost = 1;
};

// What was said: the whole, and of each part the limits that apply to it with what is left.
struct Heard {
  Verdict::Status status{};
  Outcome outcome{};
  std::vector<std::string> parts;
};

class Nobody final : public Observer {
 public:
  void decided(DoorId, const Verdict&) override { ++count; }
  bool hears_requests() const override { return true; }
  int count = 0;
};

// Where it fails, a store in this process stands in.
class BreakableStore final : public Store {
 public:
  std::string_view name() const override { return "breakable"; }
  Result<void> adopt(std::span<const Shape* const> shapes) override { return inner_.adopt(shapes); }
  void take(std::span<Group> groups, Instant now, Done done) override {
    if (!fails) return inner_.take(groups, now, done);
    for (Group& group : groups) group.failed = true;
    done.run(done.context, failure("gone"));
  }
  Store* fallback() override { return &inner_; }
  StoreFigures figures() const override { return inner_.figures(); }
  bool fails = false;

 private:
  ReferenceStore inner_{{}};
};

class TogetherTest : public testing::Test {
 protected:
  void load(const std::string& limits) {
    Loaded loaded = load_policy_text(
        "version: 1\ndomain: d\n"
        "tiers: {free: {capacity: 10, refill: 1/min}, gold: {capacity: 100, refill: 1/min}}\n"
        "limits:\n" +
            limits,
        "p.yaml");
    for (const Mistake& mistake : loaded.mistakes) ADD_FAILURE() << mistake.to_string();
    ASSERT_TRUE(live_.install(std::move(loaded.policy), clock_.now()));
    engine_ = std::make_unique<Engine>(live_, store_, observer_, clock_);
  }

  Heard ask(const std::vector<Part>& parts) {
    std::vector<Request> requests;
    for (const Part& part : parts) requests.push_back({"d", part.attributes, part.cost});
    Heard heard;
    engine_->wake(clock_.now());
    engine_->decide_together(requests, 0,
                             {[](void* context, std::span<const Verdict> verdicts) {
                                ASSERT_EQ(verdicts.size(), 1U);
                                tell(verdicts.front(), *static_cast<Heard*>(context));
                              },
                              &heard});
    return heard;
  }

  static void tell(const Verdict& verdict, Heard& heard) {
    heard.status = verdict.status;
    heard.outcome = verdict.outcome;
    for (const LimitSet part : verdict.parts) {
      std::string& text = heard.parts.emplace_back();
      for (std::size_t i = 0; i < verdict.applied.size(); ++i) {
        if ((part >> i & 1U) == 0) continue;
        text += (text.empty() ? "" : " ") + verdict.applied[i].rule->name;
        if (i < verdict.decisions.size()) {
          text += "=" + std::to_string(verdict.decisions[i].remaining());
        }
        if (verdict.outcome_of(i) != Outcome::allowed) text += "!";
      }
    }
  }

  ManualClock clock_;
  BreakableStore store_;
  LivePolicy live_{store_, Secret{{1, 2}}};
  Nobody observer_;
  std::unique_ptr<Engine> engine_;
};

using Texts = std::vector<std::string>;

const std::string kGroupAndRoute =
    "  - name: group\n    key: [group]\n    token_bucket: {capacity: 10, refill: 10/min}\n"
    "  - name: route\n    match: {route: r}\n    key: [group]\n"
    "    token_bucket: {capacity: 3, refill: 3/min}\n";

TEST_F(TogetherTest, C13_WhatTheNarrowLimitRefusesTheBroadOneKeeps) {
  load(kGroupAndRoute);
  const std::vector<Part> both = {{{{"group", "g"}}}, {{{"group", "g"}, {"route", "r"}}}};
  for (int left = 2; left >= 0; --left) {
    const Heard heard = ask(both);
    EXPECT_EQ(heard.outcome, Outcome::allowed);
    const std::string group = "group=" + std::to_string(left + 7);
    EXPECT_EQ(heard.parts, (Texts{group, group + " route=" + std::to_string(left)}));
  }
  for (int i = 0; i < 2; ++i) {
    const Heard heard = ask(both);
    EXPECT_EQ(heard.outcome, Outcome::limited);
    EXPECT_EQ(heard.parts, (Texts{"group=7", "group=7 route=0!"}));
  }
  const std::vector<Part> broad = {{{{"group", "g"}}}, {{{"other", "x"}}}};
  for (int i = 0; i < 7; ++i) EXPECT_EQ(ask(broad).outcome, Outcome::allowed);
  EXPECT_EQ(ask(broad).outcome, Outcome::limited);
  EXPECT_EQ(observer_.count, 13);
}

TEST_F(TogetherTest, TheLargestCostOfALimitIsCharged) {
  load(kGroupAndRoute);
  EXPECT_EQ(ask({{{{"group", "g"}}, 4}, {{{"group", "g"}}, 1}, {{{"group", "g"}}, 0}}).parts,
            (Texts{"group=6", "group=6", "group=6"}));
}

TEST_F(TogetherTest, TwoClientsOfOneLimitAreChargedEach) {
  load(kGroupAndRoute);
  EXPECT_EQ(ask({{{{"group", "g"}}, 4}, {{{"group", "h"}}, 1}}).parts,
            (Texts{"group=6", "group=9"}));
  EXPECT_EQ(ask({{{{"group", "g"}}, 7}, {{{"group", "h"}}, 1}}).parts,
            (Texts{"group=6!", "group=9"}));
  EXPECT_EQ(ask({{{{"group", "g"}}, 0}, {{{"group", "h"}}, 0}}).parts,
            (Texts{"group=6", "group=9"}));
}

TEST_F(TogetherTest, APartThatOnlyLooksTakesNothingWhileTheOtherDoes) {
  load(kGroupAndRoute);
  EXPECT_EQ(ask({{{{"group", "g"}}, 0}, {{{"group", "h"}}, 3}}).parts,
            (Texts{"group=10", "group=7"}));
}

TEST_F(TogetherTest, WhatOnePartLacksAnotherMayHave) {
  load(
      "  - name: user\n    key: [user]\n    on_missing: deny\n"
      "    token_bucket: {capacity: 2, refill: 1/min}\n");
  EXPECT_EQ(ask({{{{"address", "a"}}}, {{{"user", "u"}}}}).parts, (Texts{"", "user=1"}));
  const Heard heard = ask({{{{"address", "a"}}}, {{{"address", "b"}}}});
  EXPECT_EQ(heard.outcome, Outcome::never);
  EXPECT_EQ(heard.parts, (Texts{"user!", "user!"}));
}

TEST_F(TogetherTest, TheTierThatIsNamedCounts) {
  load(
      "  - name: user\n    key: [user]\n"
      "    token_bucket: {tier: {from: plan, default: free}}\n");
  EXPECT_EQ(ask({{{{"user", "u"}}}, {{{"user", "u"}, {"plan", "gold"}}}}).parts,
            (Texts{"user=99", "user=99"}));
}

TEST_F(TogetherTest, SixteenLimitsAreTheMostOfAllPartsTogether) {
  load(kGroupAndRoute);
  std::vector<std::string> names;
  for (int i = 0; i < 17; ++i) names.push_back("g" + std::to_string(i));
  std::vector<Part> parts;
  for (int i = 0; i < 16; ++i) parts.push_back({{{"group", names[static_cast<std::size_t>(i)]}}});
  EXPECT_EQ(ask(parts).status, Verdict::Status::decided);
  parts.push_back({{{"group", names[16]}}});
  EXPECT_EQ(ask(parts).status, Verdict::Status::too_many_limits);
}

TEST_F(TogetherTest, ALimitThatMayGoUnaskedLeavesTheOthersTheirParts) {
  load(
      "  - name: lax\n    key: [group]\n    on_store_error: allow\n"
      "    token_bucket: {capacity: 5, refill: 1/min}\n"
      "  - name: strict\n    key: [user]\n    token_bucket: {capacity: 7, refill: 1/min}\n");
  store_.fails = true;
  EXPECT_EQ(ask({{{{"group", "g"}}}, {{{"user", "u"}}}}).parts, (Texts{"", "strict=6"}));
}

TEST_F(TogetherTest, AShadowIsAskedOnceForAllParts) {
  load(
      "  - name: trial\n    key: [group]\n    shadow: true\n"
      "    token_bucket: {capacity: 1, refill: 1/min}\n");
  const std::vector<Part> parts = {{{{"group", "g"}}}, {{{"group", "g"}}}};
  EXPECT_EQ(ask(parts).outcome, Outcome::allowed);
  EXPECT_EQ(ask(parts).parts, (Texts{"", ""}));
  EXPECT_EQ(store_.figures().entries, 1U);
}

}  // namespace
}  // namespace suimon
