// Several threads bring new keys.
#include <gtest/gtest.h>

#include "tests/model/families.h"
#include "tests/model/run.h"

namespace suimon::model {
namespace {

const Key kA = client('A', 0, 1);

TEST(ModelOfNewcomers, OfThreeThreadsAtOneInstantOneIsAdmitted) {
  const Actor taker = takes(0ns, {charge(kA)});
  expect_right("three threads take the one token of a new key", {.actors = {taker, taker, taker}},
               {.alone_every = 1});
}

// For clocks of 5 and more slot 0 gives way, and is preferred; the others place their marks in slot
// 1 until they find the key in slot 0.
TEST(ModelOfNewcomers, OneKeyThatFindsDifferentPlaces) {
  for (const Duration clock : {0ns, 5ns}) {
    expect_right("three threads find two places for a new key",
                 {.residents = {{0, client('x'), 5ns}},
                  .actors = {takes(0ns, {charge(kA)}), takes(5ns, {charge(kA)}),
                             takes(clock, {charge(kA)})}},
                 {.alone_every = 10});
  }
}

TEST(ModelOfNewcomers, OneKeyInTablesOfEverySortWithClocksThatDiffer) {
  run_some("three threads take from a new key", kTables * 27 * 2, 20 * test::stretch(),
           {.alone_every = 100}, [](Choice choice) {
             Scenario scenario = table_of_residents(choice);
             for (unsigned i = 0; i < 3; ++i) {
               scenario.actors.push_back(takes(kClocks[choice.of(3)], {charge(kA)}));
             }
             scenario.limits[0].capacity = 1 + choice.of(2);
             return scenario;
           });
}

TEST(ModelOfNewcomers, TwoKeysInTablesOfEverySortWithClocksThatDiffer) {
  run_some("three threads take from two new keys", kTables * 27 * 3 * 2, 2 * test::stretch(),
           {.alone_every = 100}, [](Choice choice) {
             Scenario scenario = table_of_residents(choice);
             for (const Key& key : {kA, kA, somebody('B', choice.of(3))}) {
               scenario.actors.push_back(takes(kClocks[choice.of(3)], {charge(key)}));
             }
             scenario.limits[0].capacity = 1 + choice.of(2);
             return scenario;
           });
}

}  // namespace
}  // namespace suimon::model
