// A process is killed before every one of its steps in turn: what it had begun is charged as a
// whole or not at all, it holds up nobody, and its descriptor (the only one) is used again.

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "tests/table/children.h"
#include "tests/table/scene.h"
#include "tests/table/stopped_steps.h"

namespace suimon::table {
namespace {

using namespace test;

constexpr Instant kNow = at(1h);
constexpr std::uint64_t kCost = 2;

struct Situation {
  const char* name;
  std::vector<int> charges;  // see charge_of()
  std::vector<int> known;    // those that have state already
  bool reclaim = false;      // all places hold states that are full again

  friend void PrintTo(const Situation& situation, std::ostream* out) { *out << situation.name; }
};

// Keys by number; 3 stands for the state of a limit without a key.
Charge charge_of(int key) {
  return {.key = key_number(static_cast<std::uint64_t>(key)),
          .amount = kCost,
          .shape = 0,
          .keyless = key == 3};
}

class KilledAtAnyStep : public testing::TestWithParam<Situation> {
 protected:
  struct Ground : Scene {
    explicit Ground(const Situation& situation)
        : Scene({.keys = 1, .shapes = 2, .descriptors = 1, .shared = true}) {
      add("limit", {1'000, per_second(1)}, {.largest_cost = 1'000});
      if (situation.reclaim) {
        for (std::uint64_t i = 100; i < 112; ++i) {
          take_one(table, {.key = key_number(i), .shape = 0}, at(0s));
        }
      }
      for (const int key : situation.known) take_one(table, charge_of(key), kNow);
    }
    std::uint64_t debt(int key) { return owed(table, charge_of(key), kNow); }
  };

  static std::vector<Charge> charges(bool reversed = false) {
    std::vector<Charge> list;
    for (const int key : GetParam().charges) list.push_back(charge_of(key));
    if (reversed) std::reverse(list.begin(), list.end());
    return list;
  }
  static bool take(auto table, const std::vector<Charge>& list) {
    std::array<Decision, kMostCharges> decisions;
    return table.take(list, {decisions.data(), list.size()}, kNow);
  }

  // True when the process was killed before its step `step`; false when it had done all before.
  static bool kill_before(std::uint64_t step, Ground& ground, const std::vector<Charge>& list) {
    return was_killed(start_child([&] {
      StoppedSteps::run(
          step, [] { ::raise(SIGKILL); },
          [&] {
            if (!take(ground.over<StoppedSteps>(), list)) ::_exit(1);
          });
    }));
  }

  // How often the request counts for each of its keys, which must be equally often.
  static std::uint64_t times_charged(Ground& ground) {
    const auto& situation = GetParam();
    std::vector<std::uint64_t> times;
    for (const int key : situation.charges) {
      const bool known = std::ranges::count(situation.known, key) != 0;
      times.push_back(ground.debt(key) / kCost - (known ? 1 : 0));
    }
    EXPECT_EQ(std::ranges::count(times, times[0]), std::ssize(times)) << "charged in part";
    return times[0];
  }

  // After `kills` processes died: looks write nothing, and requests go on.
  static void expect_in_order(Ground& ground, std::uint64_t kills) {
    const auto left = ground.copy();
    const std::uint64_t times = times_charged(ground);
    EXPECT_TRUE(std::ranges::equal(left, ground.table.bytes())) << "a look wrote";
    EXPECT_LE(times, kills);
    // Others need the only descriptor first, while what it was for is still claimed.
    EXPECT_TRUE(take(ground.over<RealSteps>(), {charge_of(4), charge_of(5)}));
    EXPECT_EQ(times_charged(ground), times);
    EXPECT_TRUE(take(ground.over<RealSteps>(), charges()));
    EXPECT_EQ(times_charged(ground), times + 1);
    for (const Charge& charge : charges()) {
      EXPECT_TRUE(take_one(ground.table, charge, kNow).allowed());
    }
    EXPECT_TRUE(take(ground.over<RealSteps>(), charges(true)));
    EXPECT_EQ(times_charged(ground), times + 3);
    // Being killed between a step and its count is seen in the figures only.
    const std::uint64_t entries = ground.table.figures().entries;
    EXPECT_LE(entries, ground.places_taken() + kills);
    EXPECT_GE(entries + kills, ground.places_taken());
    EXPECT_EQ(ground.table.figures().overflows, 0u);
  }
};
INSTANTIATE_TEST_SUITE_P(Situations, KilledAtAnyStep,
                         testing::Values(Situation{"ASingleTake", {0}, {0}},
                                         Situation{"AFirstUse", {0}, {}},
                                         Situation{"AFirstUseThatReclaims", {0}, {}, true},
                                         Situation{"ATakeFromEverybody", {3}, {}},
                                         Situation{"APair", {0, 1}, {0, 1}},
                                         Situation{"APairOfNewKeys", {0, 1}, {}},
                                         Situation{"APairOfNewKeysThatReclaims", {0, 1}, {}, true},
                                         Situation{"ANewKeyAndAKnownOne", {0, 1}, {1}},
                                         Situation{"AKeyAndEverybody", {0, 3}, {0}},
                                         Situation{"ThreeAndEverybody", {0, 1, 2, 3}, {1}}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(KilledAtAnyStep, ChargesAllOrNothingAndBlocksNobody) {
  SUIMON_SKIP_WITHOUT_FORK();
  std::uint64_t step = 0;
  std::uint64_t charged = 0;
  for (bool killed = true; killed; ++step) {
    SCOPED_TRACE("killed before step " + std::to_string(step));
    Ground ground(GetParam());
    killed = kill_before(step, ground, charges());
    if (killed) charged += times_charged(ground);
    expect_in_order(ground, 1);
    if (HasFailure()) return;
  }
  std::printf("%llu steps, charged when killed before the last %llu\n",
              static_cast<unsigned long long>(step - 1), static_cast<unsigned long long>(charged));
  EXPECT_GE(step, 3u);
}

// The one who is killed second was about to clear away what the first one had left.
TEST_P(KilledAtAnyStep, WhileEndingWhatAnotherOneLeft) {
  SUIMON_SKIP_WITHOUT_FORK();
  Dice dice(500);
  bool killed = true;
  for (std::uint64_t first = 0; killed; ++first) {
    const std::uint64_t stride = stretch() > 1 ? 1 : dice.uniform(7, 20) * kSanitized;
    std::uint64_t second = stretch() > 1 ? 0 : dice.uniform(0, stride);
    for (bool both = true; both; second += stride) {
      SCOPED_TRACE("killed before steps " + std::to_string(first) + " and " +
                   std::to_string(second));
      Ground ground(GetParam());
      killed = kill_before(first, ground, charges());
      both = kill_before(second, ground, charges(true));
      expect_in_order(ground, 2);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace suimon::table
