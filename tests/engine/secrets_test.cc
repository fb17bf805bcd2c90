// One secret takes the place of another while threads decide: nobody's bucket becomes fuller.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "suimon/engine/corrections.h"
#include "suimon/engine/engine.h"
#include "suimon/policy/loader.h"
#include "suimon/store/stores.h"

namespace suimon {
namespace {

class Nobody final : public Observer {
 public:
  void decided(DoorId, const Verdict&) override {}
};

constexpr int kUsers = 4;

// Two limits for everybody, so that decisions are over several states.
Policy policy_with(std::uint64_t capacity) {
  const std::string bucket =
      "token_bucket: {capacity: " + std::to_string(capacity) + ", refill: 1/min}}\n";
  Loaded loaded =
      load_policy_text("version: 1\ndomain: d\nlimits:\n  - {name: all, key: [], " + bucket +
                           "  - {name: each, key: [user], " + bucket +
                           "  - {name: pair, key: [user, user2], on_missing: {value: x}, " + bucket,
                       "p.yaml");
  EXPECT_TRUE(loaded.ok());
  return std::move(loaded.policy);
}

bool ask(Engine& engine, const std::string& user, std::uint64_t cost = 1) {
  const Attribute attribute{"user", user};
  const Request request{"", {&attribute, 1}, cost};
  bool allowed = false;
  engine.decide({&request, 1}, 0,
                {[](void* context, std::span<const Verdict> verdicts) {
                   *static_cast<bool*>(context) = verdicts[0].outcome == Outcome::allowed;
                 },
                 &allowed});
  return allowed;
}

Secret secret_number(std::uint64_t n) { return {{n, ~n}}; }

class ANewSecret : public testing::TestWithParam<const char*> {
 protected:
  ANewSecret() : store_(std::move(*open_store(GetParam()))), live_(*store_, secret_number(0)) {}

  // As the daemon's main thread and its loops do.
  bool replace(std::uint64_t number, std::uint64_t capacity, Engine& engine) {
    const Secrets secrets{secret_number(number), secret_number(number - 1)};
    if (!live_.install(policy_with(capacity), clock_.now(), secrets)) return false;
    while (!live_.go_on()) {
      engine.policy();
      std::this_thread::yield();
    }
    return true;
  }
  std::uint64_t remaining(std::uint64_t user) {
    Corrections corrections(live_, *store_, clock_);
    const std::string name = "u" + std::to_string(user);
    const Attribute attribute{"user", name};
    std::uint64_t left = 0;
    KeyName key;
    key.limit = "each";
    key.attributes = {&attribute, 1};
    EXPECT_TRUE(corrections.look(
        key, [&](const Corrected& corrected) { left = corrected.decisions[0].remaining(); }));
    return left;
  }

  ManualClock clock_;
  Nobody nobody_;
  std::unique_ptr<Store> store_;
  LivePolicy live_;
};

TEST_P(ANewSecret, KeepsWhatWasSpentInEachStep) {
  const Secrets begin{secret_number(0)};
  ASSERT_TRUE(live_.install(policy_with(10), clock_.now(), begin));
  Engine late(live_, *store_, nobody_, clock_);
  EXPECT_TRUE(ask(late, "u1", 3));
  EXPECT_FALSE(live_.is_rotating());
  const Secrets secrets{secret_number(1), secret_number(0)};
  ASSERT_TRUE(live_.install(policy_with(10), clock_.now(), secrets));
  EXPECT_TRUE(live_.is_rotating());
  EXPECT_FALSE(live_.go_on()) << "somebody holds the policy of before";
  EXPECT_EQ(remaining(1), 7u);
  EXPECT_TRUE(ask(late, "u1", 2));
  EXPECT_TRUE(live_.go_on());
  EXPECT_EQ(remaining(1), 5u);
  EXPECT_TRUE(ask(late, "u1", 1));
  const Secrets end{secret_number(1)};
  ASSERT_TRUE(live_.install(policy_with(10), clock_.now(), end));
  EXPECT_FALSE(live_.is_rotating());
  EXPECT_EQ(remaining(1), 4u);
}

TEST_P(ANewSecret, NeedsTheRunningOneAsThePrevious) {
  const Secrets begin{secret_number(0)};
  ASSERT_TRUE(live_.install(policy_with(10), clock_.now(), begin));
  Engine engine(live_, *store_, nobody_, clock_);
  EXPECT_TRUE(ask(engine, "u1", 3));
  for (const Secrets& wrong :
       {Secrets{secret_number(2)}, Secrets{secret_number(2), secret_number(1)}}) {
    const auto refused = live_.install(policy_with(10), clock_.now(), wrong);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text.find("previous_secret_file"), std::string::npos);
  }
  EXPECT_EQ(remaining(1), 7u);
  EXPECT_FALSE(live_.is_rotating());
}

// The clock stands still, so what is admitted in all is what was ever there at once.
TEST_P(ANewSecret, AfterTheOtherMintsNothingForThreadsThatDecideMeanwhile) {
  constexpr std::uint64_t kCapacity = 1'000'000'000;
  constexpr int kThreads = 3;
  const Secrets begin{secret_number(0)};
  ASSERT_TRUE(live_.install(policy_with(kCapacity), clock_.now(), begin));
  std::atomic<bool> stop{false};
  std::array<std::atomic<std::uint64_t>, kUsers> admitted{};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      Engine engine(live_, *store_, nobody_, clock_);
      for (int i = thread; !stop; ++i) {
        const int user = i % kUsers;
        EXPECT_TRUE(ask(engine, "u" + std::to_string(user)));
        ++admitted[static_cast<std::size_t>(user)];
      }
    });
  }
  Engine engine(live_, *store_, nobody_, clock_);
  for (std::uint64_t number = 1; number <= 60; ++number) {
    EXPECT_TRUE(replace(number, kCapacity, engine));
    // Everybody has gone over before the next one comes.
    for (int user = 0; user < kUsers; ++user) {
      EXPECT_TRUE(ask(engine, "u" + std::to_string(user)));
      ++admitted[static_cast<std::size_t>(user)];
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t user = 0; user < kUsers; ++user) {
    EXPECT_EQ(remaining(user), kCapacity - admitted[user]) << user;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Stores, ANewSecret, testing::Values("memory://?max_keys=100", "reference://"),
    [](const auto& store) {
      return std::string(store.param).substr(0, std::string(store.param).find(':'));
    });

}  // namespace
}  // namespace suimon
