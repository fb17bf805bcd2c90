#include "suimon/engine/engine.h"

#include <gtest/gtest.h>

#include <string>

#include "suimon/policy/loader.h"
#include "suimon/store/reference.h"

namespace suimon {
namespace {

using namespace std::chrono_literals;

class Recorder final : public Observer {
 public:
  void decided(DoorId, const Verdict& verdict) override {
    ++count;
    last = verdict.outcome;
  }
  int count = 0;
  Outcome last = Outcome::allowed;
};

// A store that answers only when told to, as a remote one would.
class LaterStore final : public Store {
 public:
  explicit LaterStore(Store& inner) : inner_(inner) {}
  std::string_view name() const override { return "later"; }
  Result<void> adopt(std::span<const Shape* const> shapes) override { return inner_.adopt(shapes); }
  void take(std::span<Group> groups, Instant now, Done done) override {
    groups_ = groups;
    now_ = now;
    done_ = done;
  }
  StoreFigures figures() const override { return {}; }

  void answer(bool works = true) {
    if (works) inner_.take(groups_, now_, {[](void*, const Result<void>&) {}, nullptr});
    for (Group& group : groups_) group.failed = !works;
    done_.run(done_.context, works ? Result<void>{} : Result<void>(failure("gone")));
  }

 private:
  Store& inner_;
  std::span<Group> groups_;
  Instant now_;
  Done done_;
};

struct Heard {
  std::vector<Outcome> outcomes;
  std::vector<Verdict::Status> statuses;
  std::vector<std::uint64_t> remaining;
  std::vector<Outcome> shadows;
  std::vector<std::uint64_t> shadow_remaining;

  Answer ear() {
    return {[](void* context, std::span<const Verdict> verdicts) {
              Heard& heard = *static_cast<Heard*>(context);
              for (const Verdict& verdict : verdicts) {
                heard.outcomes.push_back(verdict.outcome);
                heard.statuses.push_back(verdict.status);
                for (const Decision& d : verdict.decisions)
                  heard.remaining.push_back(d.remaining());
                for (std::size_t i = 0; i < verdict.shadows.applied.size(); ++i)
                  heard.shadows.push_back(verdict.shadows.outcome_of(i));
                for (const Decision& d : verdict.shadows.decisions)
                  heard.shadow_remaining.push_back(d.remaining());
              }
            },
            this};
  }
};

Policy policy_of(const std::string& text) {
  Loaded loaded = load_policy_text("version: 1\ndomain: d\n" + text, "p.yaml");
  for (const Mistake& mistake : loaded.mistakes) ADD_FAILURE() << mistake.to_string();
  return std::move(loaded.policy);
}

const std::string kGroupAndRoute =
    "limits:\n"
    "  - name: group\n    key: [group]\n    token_bucket: {capacity: 10, refill: 10/min}\n"
    "  - name: route\n    match: {path: /r}\n    key: [group]\n"
    "    token_bucket: {capacity: 3, refill: 3/min}\n";

class EngineTest : public testing::Test {
 protected:
  void load(const std::string& text) {
    ASSERT_TRUE(live_.install(policy_of(text), clock_.now()));
    engine_ = std::make_unique<Engine>(live_, store_, recorder_, clock_);
  }
  Outcome ask(std::vector<Attribute> attributes, std::uint64_t cost = 1) {
    heard_ = Heard{};
    engine_->wake(clock_.now());
    const Request request{"", attributes, cost};
    engine_->decide({&request, 1}, 0, heard_.ear());
    return heard_.outcomes.at(0);
  }

  ManualClock clock_;
  ReferenceStore store_{{}};
  LivePolicy live_{store_, Secret{{1, 2}}};
  Recorder recorder_;
  Heard heard_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTest, C13_WhatTheNarrowLimitRefusesTheBroadOneKeeps) {
  load(kGroupAndRoute);
  const std::vector<Attribute> both = {{"group", "g"}, {"path", "/r"}};
  const std::vector<Attribute> broad = {{"group", "g"}, {"path", "/other"}};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(both), Outcome::allowed);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ask(both), Outcome::limited);
    EXPECT_EQ(heard_.remaining, (std::vector<std::uint64_t>{7, 0}));  // each one's own status
  }
  for (int i = 0; i < 7; ++i) EXPECT_EQ(ask(broad), Outcome::allowed);
  EXPECT_EQ(ask(broad), Outcome::limited);
}

TEST_F(EngineTest, ARequestThatLacksWhatALimitNeedsChargesNobody) {
  load(
      "limits:\n"
      "  - name: a\n    key: [ip]\n    token_bucket: {capacity: 2, refill: 1/min}\n"
      "  - name: b\n    key: [user]\n    on_missing: deny\n"
      "    token_bucket: {capacity: 2, refill: 1/min}\n");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask({{"ip", "x"}}), Outcome::never);
  EXPECT_EQ(ask({{"ip", "x"}, {"user", "u"}}), Outcome::allowed);
  EXPECT_EQ(heard_.remaining, (std::vector<std::uint64_t>{1, 1}));
}

TEST_F(EngineTest, ACostOfZeroLooksWithoutTaking) {
  load(kGroupAndRoute);
  EXPECT_EQ(ask({{"group", "g"}}, 4), Outcome::allowed);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ask({{"group", "g"}}, 0), Outcome::allowed);
    EXPECT_EQ(heard_.remaining, std::vector<std::uint64_t>{6});
  }
}

TEST_F(EngineTest, C16_ACostAboveTheCapacityIsNeverAndSpendsNothing) {
  load(kGroupAndRoute);
  EXPECT_EQ(ask({{"group", "g"}}, 8), Outcome::allowed);
  EXPECT_EQ(ask({{"group", "g"}}, 1'000'000), Outcome::never);
  EXPECT_EQ(heard_.remaining, std::vector<std::uint64_t>{2});
  EXPECT_EQ(ask({{"group", "g"}}, 2), Outcome::allowed);
}

TEST_F(EngineTest, NobodyIsRefusedForTheTimeSpentOnOthers) {
  load("limits:\n  - name: a\n    key: []\n    token_bucket: {capacity: 1, refill: 1/s}\n");
  EXPECT_EQ(ask({}), Outcome::allowed);
  engine_->wake(clock_.now());
  clock_.advance(1s);  // while the loop was busy with other requests of this wake-up
  Heard heard;
  const Request request{"", {}, 1};
  engine_->decide({&request, 1}, 0, heard.ear());
  EXPECT_EQ(heard.outcomes.at(0), Outcome::allowed);
}

TEST_F(EngineTest, RequestsOfOneCallAreDecidedInOrder) {
  load("limits:\n  - name: a\n    key: []\n    token_bucket: {capacity: 2, refill: 1/min}\n");
  const std::vector<Request> requests(4);
  Heard heard;
  engine_->decide(requests, 0, heard.ear());
  EXPECT_EQ(heard.outcomes, (std::vector<Outcome>{Outcome::allowed, Outcome::allowed,
                                                  Outcome::limited, Outcome::limited}));
  EXPECT_EQ(recorder_.count, 4);
}

TEST_F(EngineTest, OfSeveralRequestsNoneIsDecidedOutOfItsTurn) {
  load("limits:\n  - name: a\n    key: []\n    token_bucket: {capacity: 3, refill: 1/min}\n");
  engine_->wake(clock_.now());
  clock_.advance(1ms);  // a later reading is there to be had
  Heard heard;
  const std::vector<Request> requests = {{"", {}, 2}, {"", {}, 2}, {"", {}, 1}};
  engine_->decide(requests, 0, heard.ear());
  EXPECT_EQ(heard.outcomes,
            (std::vector<Outcome>{Outcome::allowed, Outcome::limited, Outcome::allowed}));
  EXPECT_EQ(heard.remaining, (std::vector<std::uint64_t>{1, 1, 0}));
}

TEST_F(EngineTest, WithoutVerdictTheReasonIsTold) {
  load(kGroupAndRoute);
  ask({{"path", "/%zz"}});
  EXPECT_EQ(heard_.statuses.at(0), Verdict::Status::bad_path);
  const Request elsewhere{"elsewhere", {}, 1};
  Heard heard;
  engine_->decide({&elsewhere, 1}, 0, heard.ear());
  EXPECT_EQ(heard.statuses.at(0), Verdict::Status::unknown_domain);
}

TEST_F(EngineTest, ARequestThatNoLimitConcernsIsAllowed) {
  load(kGroupAndRoute);
  EXPECT_EQ(ask({{"something", "else"}}), Outcome::allowed);
}

TEST_F(EngineTest, ARemoteStoreMayAnswerLater) {
  load(kGroupAndRoute);
  LaterStore later(store_);
  Engine engine(live_, later, recorder_, clock_);
  Heard heard;
  const std::vector<Attribute> attributes = {{"group", "g"}};
  const Request request{"", attributes, 10};
  engine.decide({&request, 1}, 0, heard.ear());
  EXPECT_TRUE(heard.outcomes.empty());
  // A reload meanwhile must not take away what the verdict points into.
  ASSERT_TRUE(live_.install(policy_of(kGroupAndRoute), clock_.now()));
  (void)engine.policy();
  later.answer();
  EXPECT_EQ(heard.outcomes.at(0), Outcome::allowed);
  engine.decide({&request, 1}, 0, heard.ear());
  later.answer();
  EXPECT_EQ(heard.outcomes.at(1), Outcome::limited);
  engine.decide({&request, 1}, 0, heard.ear());
  later.answer(/*works=*/false);
  EXPECT_EQ(heard.statuses.at(2), Verdict::Status::store_failed);
}

// A store that fails, beside one that stands in for it.
class FailingStore final : public Store {
 public:
  explicit FailingStore(Store* local) : local_(local) {}
  std::string_view name() const override { return "failing"; }
  Result<void> adopt(std::span<const Shape* const>) override { return {}; }
  void take(std::span<Group> groups, Instant, Done done) override {
    for (Group& group : groups) group.failed = true;
    done.run(done.context, failure("gone"));
  }
  StoreFigures figures() const override { return {}; }
  Store* fallback() override { return local_; }

 private:
  Store* local_;
};

const std::string kThreeWays =
    "limits:\n"
    "  - name: own\n    key: [user]\n    token_bucket: {capacity: 2, refill: 1/min}\n"
    "  - name: open\n    key: [user]\n    on_store_error: allow\n"
    "    token_bucket: {capacity: 1, refill: 1/min}\n"
    "  - name: closed\n    match: {path: /pay}\n    key: [user]\n    on_store_error: deny\n"
    "    token_bucket: {capacity: 9, refill: 1/min}\n";

class StoreFails : public EngineTest {
 protected:
  Heard ask_failing(Store* local, std::vector<Attribute> attributes) {
    FailingStore failing(local);
    Engine engine(live_, failing, recorder_, clock_);
    Heard heard;
    const Request request{"", attributes, 1};
    engine.decide({&request, 1}, 0, heard.ear());
    return heard;
  }
};

TEST_F(StoreFails, ALimitDecidesByBucketsOfThisProcessAndAnotherLetsPass) {
  load(kThreeWays);
  for (const std::uint64_t left : {1U, 0U}) {
    const Heard heard = ask_failing(&store_, {{"user", "u"}});
    EXPECT_EQ(heard.outcomes.at(0), Outcome::allowed);
    EXPECT_EQ(heard.remaining, std::vector<std::uint64_t>{left});  // of `own` alone
  }
  EXPECT_EQ(ask_failing(&store_, {{"user", "u"}}).outcomes.at(0), Outcome::limited);
  EXPECT_EQ(ask_failing(&store_, {{"user", "other"}}).outcomes.at(0), Outcome::allowed);
}

// Of several groups it cannot decide the first, as where keys lie on several servers.
class HalfFailingStore final : public Store {
 public:
  explicit HalfFailingStore(Store& inner) : inner_(inner) {}
  std::string_view name() const override { return "half failing"; }
  Result<void> adopt(std::span<const Shape* const>) override { return {}; }
  void take(std::span<Group> groups, Instant now, Done done) override {
    inner_.take(groups.subspan(1), now, {[](void*, const Result<void>&) {}, nullptr});
    groups[0].failed = true;
    done.run(done.context, {});
  }
  StoreFigures figures() const override { return {}; }

 private:
  Store& inner_;
};

TEST_F(StoreFails, OfSeveralRequestsThoseFailThatCouldNotBeDecided) {
  load(kThreeWays);
  HalfFailingStore half(store_);
  Engine engine(live_, half, recorder_, clock_);
  const std::vector<Attribute> pays = {{"user", "u"}, {"path", "/pay"}};
  const std::vector<Attribute> asks = {{"user", "v"}};
  const std::vector<Request> requests = {{"", pays, 1}, {"", asks, 1}};
  Heard heard;
  engine.decide(requests, 0, heard.ear());
  EXPECT_EQ(heard.statuses, (std::vector<Verdict::Status>{Verdict::Status::store_failed,
                                                          Verdict::Status::decided}));
  EXPECT_EQ(heard.outcomes.at(1), Outcome::allowed);
}

TEST_F(StoreFails, OneThatDeniesDecidesForAll) {
  load(kThreeWays);
  const Heard heard = ask_failing(&store_, {{"user", "u"}, {"path", "/pay"}});
  EXPECT_EQ(heard.statuses.at(0), Verdict::Status::store_failed);
  // Nothing was charged to the others.
  EXPECT_EQ(ask_failing(&store_, {{"user", "u"}}).remaining, std::vector<std::uint64_t>{1});
}

TEST_F(StoreFails, WithoutAStandInLocalMeansDeny) {
  load(kThreeWays);
  EXPECT_EQ(ask_failing(nullptr, {{"user", "u"}}).statuses.at(0), Verdict::Status::store_failed);
}

TEST_F(StoreFails, WhatIsLetPassIsNotChargedAnywhere) {
  load(
      "limits:\n  - name: open\n    key: [user]\n    on_store_error: allow\n"
      "    token_bucket: {capacity: 1, refill: 1/min}\n");
  for (int i = 0; i < 5; ++i) {
    const Heard heard = ask_failing(&store_, {{"user", "u"}});
    EXPECT_EQ(heard.outcomes.at(0), Outcome::allowed);
    EXPECT_TRUE(heard.remaining.empty());
  }
  EXPECT_EQ(ask({{"user", "u"}}), Outcome::allowed);
}

TEST_F(EngineTest, AnObserverThatAsksHearsTheRequestEvenOfALaterAnswer) {
  struct Listener final : Observer {
    void decided(DoorId, const Verdict& verdict) override {
      heard.clear();
      if (verdict.requests.empty()) return;
      for (const Attribute& a : verdict.requests.front().attributes) {
        heard += std::string(a.name) + "=" + std::string(a.value) + " ";
      }
    }
    bool hears_requests() const override { return asks; }
    bool asks = true;
    std::string heard;
  } listener;
  load(kGroupAndRoute);
  LaterStore later(store_);
  for (const bool asks : {true, false}) {
    listener.asks = asks;
    Engine at_once(live_, store_, listener, clock_);
    Engine engine(live_, later, listener, clock_);
    std::vector<std::string> texts = {"group", "g", "user", "u1"};
    std::vector<Attribute> attributes = {{texts[0], texts[1]}, {texts[2], texts[3]}};
    const Request request{"d", attributes, 1};
    Heard heard;
    at_once.decide({&request, 1}, 0, heard.ear());
    EXPECT_EQ(listener.heard, asks ? "group=g user=u1 " : "");
    listener.heard = "nothing yet";
    engine.decide({&request, 1}, 0, heard.ear());
    EXPECT_EQ(listener.heard, "nothing yet");
    for (std::string& text : texts) text.assign(text.size(), '#');  // the caller's buffers go on
    attributes.clear();
    later.answer();
    EXPECT_EQ(listener.heard, asks ? "group=g user=u1 " : "");
  }
}

TEST_F(EngineTest, C33b_ReloadingTheSameFileGivesNobodyAFreshBucket) {
  load("limits:\n  - name: a\n    key: []\n    token_bucket: {capacity: 10, refill: 1/s}\n");
  EXPECT_EQ(ask({}, 10), Outcome::allowed);
  for (int i = 0; i < 100; ++i) {
    clock_.advance(10ms);
    const auto changes = live_.install(
        policy_of(
            "limits:\n  - name: a\n    key: []\n    token_bucket: {capacity: 10, refill: 1/s}\n"),
        clock_.now());
    ASSERT_TRUE(changes);
    EXPECT_TRUE(changes->added.empty() && changes->changed.empty() && changes->removed.empty());
  }
  int allowed = 0;
  for (int i = 0; i < 5; ++i) allowed += ask({}) == Outcome::allowed ? 1 : 0;
  EXPECT_EQ(allowed, 1);
}

TEST_F(EngineTest, ReloadsOfManyLimitsCostNumbersOnlyForWhatChanged) {
  std::string text = "tiers:\n";
  for (int i = 0; i < 60; ++i) {
    text +=
        "  t" + std::to_string(i) + ": {capacity: " + std::to_string(10 + i) + ", refill: 1/s}\n";
  }
  text += "limits:\n";
  for (int i = 0; i < 150; ++i) {
    text += "  - {name: l" + std::to_string(i) + ", key: [user], match: {path: /" +
            std::to_string(i) + "}, token_bucket: {tier: {from: plan, default: t0}}}\n";
  }
  load(text);  // 9,000 of the 16,384 numbers
  ASSERT_TRUE(live_.install(policy_of(text), clock_.now()));
  ASSERT_TRUE(live_.install(policy_of(text), clock_.now()));
  EXPECT_EQ(live_.shapes().size(), 9000U);
}

TEST_F(EngineTest, AChangedLimitConvertsWhatIsOwed) {
  load("limits:\n  - name: a\n    key: []\n    token_bucket: {capacity: 10, refill: 1/s}\n");
  EXPECT_EQ(ask({}, 10), Outcome::allowed);
  clock_.advance(4s);  // 6 tokens are owed
  const auto changes = live_.install(
      policy_of("limits:\n  - name: a\n    key: []\n    token_bucket: {capacity: 8, refill: 2/s}\n"
                "  - name: b\n    key: [user]\n    token_bucket: {capacity: 8, refill: 2/s}\n"),
      clock_.now());
  ASSERT_TRUE(changes);
  ASSERT_EQ(changes->changed.size(), 1u);
  EXPECT_EQ(changes->changed[0].to_string(), "d/a: capacity 10 -> 8, refill 1/s -> 2/s");
  EXPECT_EQ(changes->added, std::vector<std::string>{"d/b"});
  clock_.advance(1s);  // 4 are owed
  EXPECT_EQ(ask({}, 0), Outcome::allowed);
  EXPECT_EQ(heard_.remaining, std::vector<std::uint64_t>{4});
}

const std::string kTwoShadows =
    "limits:\n"
    "  - name: real\n    key: [user]\n    token_bucket: {capacity: 3, refill: 1/min}\n"
    "  - name: narrow\n    shadow: true\n    key: [user]\n"
    "    token_bucket: {capacity: 1, refill: 1/min}\n"
    "  - name: wide\n    shadow: true\n    key: [user]\n"
    "    token_bucket: {capacity: 9, refill: 1/min}\n";
using Outcomes = std::vector<Outcome>;
using Counts = std::vector<std::uint64_t>;

TEST_F(EngineTest, AShadowSaysWhatItWouldDoAndRefusesNobody) {
  load(kTwoShadows);
  EXPECT_EQ(ask({{"user", "u"}}), Outcome::allowed);
  EXPECT_EQ(heard_.shadows, (Outcomes{Outcome::allowed, Outcome::allowed}));
  EXPECT_EQ(ask({{"user", "u"}}), Outcome::allowed);
  EXPECT_EQ(heard_.shadows, (Outcomes{Outcome::limited, Outcome::allowed}));
  // Each is charged when it would allow, whatever the other says.
  EXPECT_EQ(heard_.shadow_remaining, (Counts{0, 7}));
}

TEST_F(EngineTest, OfARefusedRequestShadowsAreNotAskedNorCharged) {
  load(kTwoShadows);
  for (int i = 0; i < 3; ++i) ask({{"user", "u"}});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(ask({{"user", "u"}}), Outcome::limited);
    EXPECT_EQ(heard_.shadows, Outcomes{});
  }
  clock_.advance(1min);
  EXPECT_EQ(ask({{"user", "u"}}), Outcome::allowed);
  EXPECT_EQ(heard_.shadow_remaining, (Counts{0, 6}));  // 9 - 3 + 1 - 1
}

TEST_F(EngineTest, ShadowsAloneAllowEverything) {
  load(
      "limits:\n  - name: s\n    shadow: true\n    key: []\n"
      "    token_bucket: {capacity: 1, refill: 1/min}\n");
  EXPECT_EQ(ask({}), Outcome::allowed);
  EXPECT_EQ(ask({}, 2), Outcome::allowed);
  EXPECT_EQ(heard_.shadows, Outcomes{Outcome::never});
}

TEST_F(EngineTest, ALookAtAShadowChargesNothing) {
  load(kTwoShadows);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask({{"user", "u"}}, 0), Outcome::allowed);
  EXPECT_EQ(heard_.shadow_remaining, (Counts{1, 9}));
}

TEST_F(EngineTest, ARemoteStoreIsAskedForTheShadowsAfterTheVerdict) {
  LaterStore later(store_);
  LivePolicy live(later, Secret{{1, 2}});
  ASSERT_TRUE(live.install(policy_of(kTwoShadows), clock_.now()));
  Engine engine(live, later, recorder_, clock_);
  const Attribute user{"user", "u"};
  const Request request{"", {&user, 1}, 1};
  engine.decide({&request, 1}, 0, heard_.ear());
  later.answer();
  EXPECT_TRUE(heard_.outcomes.empty());
  later.answer();
  EXPECT_EQ(heard_.outcomes, Outcomes{Outcome::allowed});
  EXPECT_EQ(heard_.shadows, (Outcomes{Outcome::allowed, Outcome::allowed}));

  // Nobody is refused because a shadow could not be asked.
  heard_ = Heard{};
  engine.decide({&request, 1}, 0, heard_.ear());
  later.answer();
  later.answer(/*works=*/false);
  EXPECT_EQ(heard_.outcomes, Outcomes{Outcome::allowed});
  EXPECT_EQ(heard_.statuses, std::vector<Verdict::Status>{Verdict::Status::decided});
  EXPECT_EQ(heard_.shadows, Outcomes{});
}

}  // namespace
}  // namespace suimon
