// Decisions over two states: all or none, and nobody is refused for tokens that were not spent.
#include "tests/model/pairs.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/model/families.h"
#include "tests/model/run.h"

namespace suimon::model {
namespace {

// Who reads it late must not take the next decision for the one that he has met: to A, what B owes
// would be a reason for a refusal.
TEST(ModelOfPairs, WhatADecisionWroteDownIsReadAsAWholeOrNotAtAll) {
  const Key c = client('C', 2, 0);
  Actor twice = takes(0ns, {one(kA), one(kB)});
  twice.calls.push_back({at(0ns), {one(kB), charge(c, 1, kOfB)}});
  for (const Actor& reader : {takes(0ns, {one(kA)}), takes(0ns, {one(kA), charge(c, 1, kOfB)})}) {
    const Scenario scenario{
        .limits = {{.capacity = 4}, kOfResidents, {.capacity = 9}},
        .residents = {{0, kA, 10ns, 0}, {1, kB, 50ns, kOfB}, {2, c, 50ns, kOfB}},
        .actors = {twice, reader},
        .fine = true};
    expect_right("two decisions of one thread, read word by word", scenario,
                 {.attempts = kAttempts, .alone_every = 1});
  }
}

TEST(ModelOfPairs, InOppositeOrder) {
  for (Scenario scenario : {living({pair(), turned_pair()}), absent({pair(), turned_pair()})}) {
    scenario.fine = kLong;
    expect_right(scenario.residents.empty() ? "two new pairs" : "two living pairs", scenario,
                 {.attempts = kAttempts, .alone_every = 1});
  }
}

// Who loses begins again once, in the short run not at all.
TEST(ModelOfPairs, BesideSingleTakes) {
  const Bounds bounds{.nonces = 2, .attempts = kLong ? 1U : 0U, .alone_every = 100};
  const std::vector<Actor> actors{pair(), turned_pair(), takes(0ns, {one(kA)})};
  expect_right("two living pairs and a single take", living(actors), bounds);
  expect_right("two new pairs and a single take", absent(actors), bounds);
}
TEST(ModelOfPairs, BesideSingleTakesOfBoth) {
  const Bounds bounds{.nonces = 2, .attempts = 1, .alone_every = 100};
  const std::vector<Actor> actors{pair(), takes(0ns, {one(kA)}), takes(0ns, {one(kB)})};
  expect_right("a living pair and two single takes", living(actors), bounds);
  expect_right("a new pair and two single takes", absent(actors), bounds);
}

// Also while the claims of a decision are not yet released.
TEST(ModelOfPairs, ALookSeesWhatIsDecided) {
  const std::vector<Actor> actors{pair(), takes(0ns, {look(one(kA))}), takes(0ns, {one(kB)})};
  expect_right("a living pair and a look", living(actors), {.attempts = 1, .alone_every = 1});
  expect_right("a new pair and a look", absent(actors), {.attempts = 1, .alone_every = 1});
}

TEST(ModelOfPairs, WithTheOneStateOfALimitWithoutAKey) {
  const Bounds bounds{.attempts = 1, .alone_every = 100};
  const std::vector<Actor> actors{takes(0ns, {one(kA), keyless(1, kOfB)}),
                                  takes(0ns, {keyless(1, kOfB), one(kA)}),
                                  takes(0ns, {keyless(1, kOfB)})};
  expect_right("a living key and a limit without one", living(actors), bounds);
  expect_right("a new key and a limit without one", absent(actors), bounds);
}

TEST(ModelOfPairs, InTablesOfEverySort) {
  const Bounds bounds{.nonces = 2, .attempts = 0, .alone_every = 100};
  run_some("two pairs and a single take", kTablesOfPairs * 27, kLong ? 40 : 1, bounds,
           [](Choice choice) {
             Scenario scenario = table_of_pairs(choice);
             for (Actor actor : {pair(), turned_pair(), takes(0ns, {one(kA)})}) {
               actor.calls[0].now = at(kClocks[choice.of(3)]);
               scenario.actors.push_back(actor);
             }
             return scenario;
           });
}

}  // namespace
}  // namespace suimon::model
