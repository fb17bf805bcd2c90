// More changes than there are numbers for shapes, while threads decide: numbers come back, and no
// state is read as what it is not.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "suimon/engine/engine.h"
#include "suimon/policy/loader.h"
#include "suimon/store/stores.h"

namespace suimon {
namespace {

using namespace std::chrono_literals;

class Nobody final : public Observer {
 public:
  void decided(DoorId, const Verdict&) override {}
};

constexpr int kUsers = 4;

// Two limits for everybody, so that decisions are over several states; together, kUsers may take
// what all may take.
Policy policy_with(std::uint64_t capacity, std::string_view refill) {
  const auto bucket = [&](std::uint64_t tokens) {
    return "token_bucket: {capacity: " + std::to_string(tokens) +
           ", refill: " + std::string(refill) + "}}\n";
  };
  Loaded loaded = load_policy_text("version: 1\ndomain: d\nlimits:\n  - {name: all, key: [], " +
                                       bucket(kUsers * capacity) +
                                       "  - {name: each, key: [user], " + bucket(capacity),
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

class ManyReloads : public testing::TestWithParam<const char*> {
 protected:
  ManyReloads() : store_(std::move(*open_store(GetParam()))), live_(*store_, Secret{}) {}

  ManualClock clock_;
  Nobody nobody_;
  std::unique_ptr<Store> store_;
  LivePolicy live_;
};

TEST_P(ManyReloads, NeverUseUpTheNumbers) {
  ASSERT_TRUE(live_.install(policy_with(5, "1/d"), clock_.now()));
  Engine engine(live_, *store_, nobody_, clock_);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(ask(engine, "u"));
  std::size_t most = 0;
  for (std::uint64_t i = 0; i < 40'000; ++i) {
    ASSERT_TRUE(live_.install(policy_with(5, i % 2 == 0 ? "2/d" : "1/d"), clock_.now())) << i;
    most = std::max(most, live_.shapes().used());
    if (i % 1000 == 0) {
      EXPECT_FALSE(ask(engine, "u")) << "after " << i;
    }
    engine.policy();  // as the loops of the daemon do after each reload
  }
  EXPECT_FALSE(ask(engine, "u"));
  EXPECT_LE(most, Shapes::kMost / 2 + 8);
  EXPECT_LE(live_.shapes().size(), Shapes::kMost / 2 + 8);
}

TEST_P(ManyReloads, WaitForWhoStillDecidesByAnEarlierPolicy) {
  ASSERT_TRUE(live_.install(policy_with(5, "1/d"), clock_.now()));
  const auto kept = live_.current();
  std::uint64_t reloads = 0;
  while (reloads < 20'000 &&
         live_.install(policy_with(5, reloads % 2 == 0 ? "2/d" : "1/d"), clock_.now())) {
    ++reloads;
  }
  EXPECT_EQ(reloads, Shapes::kMost / 2 - 1);
}

TEST_P(ManyReloads, OfAPolicyWithManyLimitsGoOnWhenNobodyHoldsTheEarlierOnes) {
  const auto large = [](std::uint64_t capacity) {
    std::string text = "version: 1\ndomain: d\ntiers:\n";
    for (int i = 0; i < 60; ++i) {
      text += "  t" + std::to_string(i) + ": {capacity: " + std::to_string(capacity) +
              ", refill: 1/d}\n";
    }
    text += "limits:\n";
    for (int i = 0; i < 100; ++i) {
      text += "  - {name: l" + std::to_string(i) +
              ", key: [user], token_bucket: {tier: {from: plan, default: t0}}}\n";
    }
    Loaded loaded = load_policy_text(text, "p.yaml");
    EXPECT_TRUE(loaded.ok());
    return std::move(loaded.policy);
  };
  ASSERT_TRUE(live_.install(large(1), clock_.now()));
  ASSERT_TRUE(live_.install(large(2), clock_.now()));
  const auto refused = live_.install(large(3), clock_.now());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("load it once more"), std::string::npos);
  EXPECT_TRUE(live_.install(large(3), clock_.now()));
}

// The clock stands still, so what is admitted in all is what was ever there at once.
TEST_P(ManyReloads, MintNothingForThreadsThatDecideMeanwhile) {
  constexpr std::uint64_t kCapacity = 1'000'000'000;
  constexpr int kThreads = 3;
  ASSERT_TRUE(live_.install(policy_with(kCapacity, "1/min"), clock_.now()));
  std::atomic<bool> stop{false};
  std::array<std::atomic<std::uint64_t>, kUsers> admitted{};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      Engine engine(live_, *store_, nobody_, clock_);
      for (int i = thread; !stop; ++i) {
        const int user = i % kUsers;
        EXPECT_TRUE(ask(engine, "u" + std::to_string(user), 3));
        admitted[static_cast<std::size_t>(user)] += 3;
      }
    });
  }
  // Numbers come back only when nobody decides by an earlier policy, and the system may put a
  // thread aside in the middle of a decision: then the answer is to load it once more.
  const auto load = [&](std::uint64_t capacity, std::string_view refill) {
    for (int tries = 0; tries < 100'000; ++tries) {
      if (live_.install(policy_with(capacity, refill), clock_.now())) return true;
      std::this_thread::yield();
    }
    return false;
  };
  std::size_t failed = 0;
  for (std::uint64_t i = 0; i < 20'000 && failed == 0; ++i) {
    failed += load(kCapacity + i % 3, i % 2 == 0 ? "2/min" : "7/min") ? 0 : 1;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0u);
  // What is left is what was not admitted: no state was lost, and none was read as another. Each
  // change rounds up what is owed, by far less than a token in all.
  ASSERT_TRUE(load(kCapacity, "1/min"));
  Engine engine(live_, *store_, nobody_, clock_);
  for (int user = 0; user < kUsers; ++user) {
    const std::string name = "u" + std::to_string(user);
    const std::uint64_t spent = admitted[static_cast<std::size_t>(user)];
    EXPECT_GT(spent, 0u);
    EXPECT_TRUE(ask(engine, name, kCapacity - spent - 1)) << name << " spent " << spent;
    EXPECT_FALSE(ask(engine, name, 2)) << name << " spent " << spent;
  }
  EXPECT_FALSE(ask(engine, "one more", kUsers + 1));
}

INSTANTIATE_TEST_SUITE_P(
    Stores, ManyReloads, testing::Values("memory://?max_keys=100", "reference://"),
    [](const auto& store) {
      return std::string(store.param).substr(0, std::string(store.param).find(':'));
    });

}  // namespace
}  // namespace suimon
