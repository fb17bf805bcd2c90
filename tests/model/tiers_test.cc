// A client whose tier changes: threads read one state with two sets of parameters.
#include <gtest/gtest.h>

#include "tests/model/families.h"
#include "tests/model/run.h"

namespace suimon::model {
namespace {

const Key kA = client('A', 0, 1);

// Limit 0 is the one tier, limit 2 the other.
ShapeNumber tier_of(Choice& choice) { return choice.of(2) == 0 ? 0 : 2; }

Scenario tiers(Choice& choice) {
  Scenario scenario{.limits = {{.capacity = 2}, kOfResidents, {.capacity = 4, .token = 7ns}}};
  constexpr Duration kFull[] = {-5ns, 5ns, 20ns, 30ns};
  const unsigned full = choice.of(5);
  if (full != 4) scenario.residents.push_back({0, kA, kFull[full], tier_of(choice)});
  const Duration clock = kClocks[choice.of(3)];
  for (unsigned i = 0; i < 3; ++i) {
    scenario.actors.push_back(takes(clock, {charge(kA, 1, tier_of(choice))}));
  }
  return scenario;
}

TEST(ModelOfTiers, ThreeThreads) {
  run_some("three threads take in two tiers", 5 * 2 * 3 * 8, 240, {.alone_every = 10},
           [](Choice choice) { return tiers(choice); });
}

TEST(ModelOfTiers, TwoThreadsWhileAnotherKeyComes) {
  run_some("two threads take in two tiers while another key comes", 5 * 2 * 3 * 8,
           2 * test::stretch(), {.nonces = 2, .alone_every = 100}, [](Choice choice) {
             Scenario scenario = tiers(choice);
             scenario.actors[2].calls[0].charges = {charge(somebody('B', 0), 1, 1)};
             return scenario;
           });
}

}  // namespace
}  // namespace suimon::model
