// States that give way, to later clocks or because somebody owes less, while others take from them.
#include <gtest/gtest.h>

#include "tests/model/families.h"
#include "tests/model/run.h"

namespace suimon::model {
namespace {

const Key kA = client('A', 0, 1);

TEST(ModelOfReclaim, AStateIsTakenFromWhileItGivesWay) {
  run_some("two threads take from a key while a third brings another", 3 * 4 * 25 * 27 * 3 * 2,
           20 * test::stretch(), {.alone_every = 100}, [](Choice choice) {
             Scenario scenario{.limits = {{.capacity = 2 + choice.of(2)}, kOfResidents}};
             constexpr Duration kFull[] = {-5ns, 5ns, 20ns, 30ns};
             const unsigned home = choice.of(3);
             scenario.residents.push_back({home, kA, kFull[choice.of(4)]});
             live_in(scenario, (home + 1) % 3, static_cast<Sort>(choice.of(kSorts)));
             live_in(scenario, (home + 2) % 3, static_cast<Sort>(choice.of(kSorts)));
             for (const Key& key : {kA, kA, somebody('B', choice.of(3))}) {
               scenario.actors.push_back(takes(kClocks[choice.of(3)], {charge(key)}));
             }
             return scenario;
           });
}

TEST(ModelOfReclaim, SomebodyTakesAgainAfterHisStateHasGone) {
  run_some("one thread takes twice, others take from that key and another", kTables * 81 * 3 * 2,
           test::stretch(), {.nonces = 2, .alone_every = 100}, [](Choice choice) {
             Scenario scenario = table_of_residents(choice);
             for (const Key& key : {kA, kA, somebody('B', choice.of(3))}) {
               scenario.actors.push_back(takes(kClocks[choice.of(3)], {charge(key)}));
             }
             scenario.actors[0].calls.push_back({at(kClocks[choice.of(3)]), {charge(kA)}});
             scenario.limits[0].capacity = 1 + choice.of(2);
             return scenario;
           });
}

}  // namespace
}  // namespace suimon::model
