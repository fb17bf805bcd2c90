// Families of scenarios: tables of every sort, clocks that differ in every way.
//
// Thread rule: one thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/model/run.h"
#include "tests/model/scenario.h"
#include "tests/timeline.h"

namespace suimon::model {

// Who lives in a slot, as clocks from 0 to 20 see it.
enum class Sort : std::uint8_t {
  none,
  dead,     // full for everybody: gives way
  dying,    // full at 10: limited for clocks that lag, gives way to later ones
  owing,    // owes a tenth, so that he goes when nobody else can
  limited,  // never goes
};
inline constexpr unsigned kSorts = 5;

// Limit 0 is of the clients who are looked at, limit 1 of the residents.
inline constexpr Bucket kOfResidents{.capacity = 1000, .token = 10ns};

inline void live_in(Scenario& scenario, unsigned slot, Sort sort) {
  const Key key = client(static_cast<char>('x' + slot));
  switch (sort) {
    case Sort::none:
      return;
    case Sort::dead:
      scenario.residents.push_back({slot, key, -5ns, 1});
      return;
    case Sort::dying:
      scenario.residents.push_back({slot, key, 10ns, 0});
      return;
    case Sort::owing:
      scenario.residents.push_back({slot, key, 1000ns, 1});
      return;
    case Sort::limited:
      scenario.residents.push_back({slot, key, 10000ns, 1});
      return;
  }
}

// The clocks of threads that do not agree.
inline constexpr Duration kClocks[] = {0ns, 5ns, 20ns};

// One choice of many: the digits of its number.
class Choice {
 public:
  explicit Choice(std::uint64_t number) : left_(number) {}
  unsigned of(unsigned n) {
    const auto digit = static_cast<unsigned>(left_ % n);
    left_ /= n;
    return digit;
  }

 private:
  std::uint64_t left_;
};

// Tables in whose three places somebody of every sort lives.
inline constexpr std::uint64_t kTables = std::uint64_t{kSorts} * kSorts * kSorts;
inline Scenario table_of_residents(Choice& choice) {
  Scenario scenario{.limits = {{}, kOfResidents}};
  for (unsigned slot = 0; slot < 3; ++slot) {
    live_in(scenario, slot, static_cast<Sort>(choice.of(kSorts)));
  }
  return scenario;
}

// Somebody who prefers this slot.
inline Key somebody(char name, unsigned first) { return client(name, first, (first + 1) % 3); }

inline void expect_right(const char* name, const Scenario& scenario, const Bounds& bounds) {
  const Seen seen = run(name, scenario, bounds);
  EXPECT_EQ(seen.wrong, nullptr) << seen.how;
  EXPECT_TRUE(seen.complete);
}

// Runs `some` scenarios of a family of `all`, drawn at random, or each of them.
template <class Make>
void run_some(const char* name, std::uint64_t all, std::uint64_t some, const Bounds& bounds,
              Make make) {
  const auto begun = std::chrono::steady_clock::now();
  test::Dice dice(all);
  Report sum;
  std::uint64_t scenarios = 0;
  for (std::uint64_t i = 0; i < std::min(some, all); ++i) {
    const std::uint64_t number = some >= all ? i : dice.uniform(0, all - 1);
    const Scenario scenario = make(Choice(number));
    const Seen seen = run(nullptr, scenario, bounds);
    EXPECT_EQ(seen.wrong, nullptr) << name << ", scenario " << number << ": " << seen.how;
    EXPECT_TRUE(seen.complete) << name << ", scenario " << number;
    sum.states += seen.states;
    sum.moves += seen.moves;
    sum.ends += seen.ends;
    sum.cut += seen.cut;
    sum.longest = std::max(sum.longest, seen.longest);
    sum.nodes += seen.nodes;
    ++scenarios;
    if (::testing::Test::HasFailure()) break;
  }
  const std::string title = std::string(name) + ", " + std::to_string(scenarios) + " of " +
                            std::to_string(all) + " scenarios";
  print(title.c_str(), sum, std::chrono::steady_clock::now() - begun);
}

}  // namespace suimon::model
