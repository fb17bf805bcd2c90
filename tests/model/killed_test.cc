// A thread is stopped for ever, at any step of a decision over two states: the others go on, what
// it had not decided is charged to nobody, what it had decided is charged as a whole.
#include <gtest/gtest.h>

#include "tests/model/families.h"
#include "tests/model/pairs.h"
#include "tests/model/run.h"

namespace suimon::model {
namespace {

TEST(ModelOfKilled, InOppositeOrderAndThenAnotherPair) {
  const std::vector<Actor> actors{killable(pair()), killable(turned_pair()), last(pair())};
  for (Scenario scenario : {living(actors), absent(actors)}) {
    scenario.fine = kLong;
    expect_right(scenario.residents.empty() ? "two new pairs, one killed, then another"
                                            : "two living pairs, one killed, then another",
                 scenario, {.attempts = kAttempts, .kills = 1, .alone_every = 1});
  }
}

TEST(ModelOfKilled, InTablesOfEverySort) {
  const Bounds bounds{.nonces = 2, .attempts = 1, .kills = 1, .alone_every = 100};
  run_some("two pairs, one killed, then another", kTablesOfPairs * 9, 10 * test::stretch(), bounds,
           [](Choice choice) {
             Scenario scenario = table_of_pairs(choice);
             for (Actor actor : {killable(pair()), killable(turned_pair()), last(pair())}) {
               actor.calls[0].now = at(actor.last ? 20ns : kClocks[choice.of(3)]);
               scenario.actors.push_back(actor);
             }
             return scenario;
           });
}

TEST(ModelOfKilled, BesideASingleTake) {
  const Bounds bounds{.nonces = 2, .attempts = kLong ? 1U : 0U, .kills = 1, .alone_every = 100};
  const std::vector<Actor> actors{killable(pair()), turned_pair(), takes(0ns, {one(kA)})};
  expect_right("two living pairs, one killed, and a single take", living(actors), bounds);
  expect_right("two new pairs, one killed, and a single take", absent(actors), bounds);
}

TEST(ModelOfKilled, ItsOnlyDescriptorIsTakenOver) {
  const Bounds bounds{.nonces = 2, .attempts = 1, .kills = 2};
  Scenario scenario = living({killable(pair()), killable(turned_pair()), last(pair())});
  scenario.shared_descriptors = 1;
  expect_right("two pairs with one descriptor, both killed, then another", scenario, bounds);
}

// Whose claims a rival ends, and whose descriptor is taken over meanwhile.
TEST(ModelOfKilled, ItsDescriptorIsTakenOverWhileARivalEndsItsClaims) {
  const Bounds bounds{.nonces = 2, .attempts = kLong ? 1U : 0U, .kills = 1};
  Scenario scenario = living({killable(pair()), turned_pair(), takes(0ns, {one(kA)})});
  scenario.shared_descriptors = 1;
  expect_right("two pairs with one descriptor, one killed, and a single take", scenario, bounds);
}

}  // namespace
}  // namespace suimon::model
