// One secret replaces another: threads that are one step apart bring a client by two keys.
#include <gtest/gtest.h>

#include "tests/model/families.h"
#include "tests/model/run.h"

namespace suimon::model {
namespace {

const Key kOlder = client('A', 0, 1);
const Key kNewer = client('N', 1, 2);

// Before anybody knows of the newer secret; while all learn of it; while all go over.
Actor before(Duration now = 0ns) { return takes(now, {charge(kOlder)}); }
Actor accepts(Duration now = 0ns) { return takes(now, {accepting(charge(kOlder), kNewer)}); }
Actor moves(Duration now = 0ns) { return takes(now, {moving(charge(kNewer), kOlder)}); }

Scenario new_client(std::vector<Actor> actors) {
  return {
      .limits = {{}, kOfResidents}, .actors = std::move(actors), .one_client = {{kOlder, kNewer}}};
}
// He has one token of two.
Scenario known_client(std::vector<Actor> actors) {
  Scenario scenario = new_client(std::move(actors));
  scenario.limits[0].capacity = 2;
  scenario.residents = {{0, kOlder, 10ns}};
  return scenario;
}

const Bounds kAll{.nonces = 2, .attempts = 2, .alone_every = 100};

TEST(ModelOfTwoKeys, OfTwoThreadsOneTakesTheOneToken) {
  for (const Scenario& scenario :
       {new_client({before(), accepts()}), new_client({accepts(), moves()}),
        new_client({moves(), moves()}), known_client({before(), accepts()}),
        known_client({accepts(), moves()}), known_client({moves(), moves()})}) {
    expect_right("two threads bring a client by two keys", scenario, kAll);
  }
}

TEST(ModelOfTwoKeys, OfThreeThreadsOneTakesTheOneToken) {
  const char* const name = "three threads bring a client by two keys";
  expect_right(name, new_client({accepts(), accepts(), moves()}), kAll);
  expect_right(name, new_client({accepts(), moves(), moves()}), kAll);
  // With two who bring over the one state there are too many states to see them all.
  if (test::stretch() > 1) expect_right(name, known_client({accepts(), accepts(), moves()}), kAll);
}

TEST(ModelOfTwoKeys, ALookSeesTheStateWhileItGoesOver) {
  for (const Scenario& scenario :
       {known_client({moves(), takes(0ns, {look(moving(charge(kNewer), kOlder))})}),
        known_client({moves(), takes(0ns, {look(accepting(charge(kOlder), kNewer))})}),
        new_client({moves(), accepts(), takes(0ns, {look(moving(charge(kNewer), kOlder))})})}) {
    expect_right("a look by two keys", scenario, kAll);
  }
}

TEST(ModelOfTwoKeys, InPairsOfWhichOneHasGoneOver) {
  const Key second = client('B', 2, 0);
  const auto both = [&](const Charge& charge) {
    return takes(0ns, {charge, model::charge(second, 1, 2)});
  };
  for (const Actor& other : {both(accepting(charge(kOlder), kNewer)), accepts()}) {
    Scenario scenario = known_client({both(moving(charge(kNewer), kOlder)), other});
    scenario.limits.push_back({.capacity = 2});
    scenario.residents = {{0, kOlder, 10ns}};
    expect_right("a pair by two keys", scenario,
                 {.nonces = 2, .attempts = test::stretch() > 1 ? 3U : 1U, .alone_every = 100});
  }
}

TEST(ModelOfTwoKeys, InTablesOfEverySortWithClocksThatDiffer) {
  run_some("threads bring a client by two keys", kTables * 9 * 4 * 4, 20 * test::stretch(),
           {.nonces = 2, .attempts = 1, .alone_every = 100}, [](Choice choice) {
             Scenario scenario = table_of_residents(choice);
             scenario.one_client = {{kOlder, kNewer}};
             constexpr Duration kFull[] = {-5ns, 5ns, 20ns};
             const unsigned full = choice.of(4);
             if (full != 3) {
               std::erase_if(scenario.residents,
                             [](const Resident& resident) { return resident.slot == 0; });
               scenario.residents.push_back({0, kOlder, kFull[full]});
             }
             for (unsigned i = 0; i < 2; ++i) {
               const Duration clock = kClocks[choice.of(3)];
               scenario.actors.push_back(choice.of(2) == 0 ? accepts(clock) : moves(clock));
             }
             scenario.limits[0].capacity = 2;
             return scenario;
           });
}

// Somebody who has read that he stands nowhere finds, when it comes to the worst, his own state in
// the way: it is not for him to forget.
TEST(ModelOfTwoKeys, NobodyGivesWayToHimself) {
  for (const auto& [mine, his] : {std::pair{accepts(), moves()}, {moves(), accepts()}}) {
    Scenario scenario = new_client({mine, his});
    scenario.limits[0].capacity = 2;
    live_in(scenario, 1, Sort::limited);
    live_in(scenario, 2, Sort::limited);
    expect_right("a client comes while there is one place", scenario, kAll);
  }
}

constexpr const char* kTooMuch = "more was admitted than C + floor(R*t)";

template <table::Cures kCures>
void breaks_without(const char* cure, const Scenario& scenario) {
  const Seen without = run<kCures>((std::string("without ") + cure).c_str(), scenario, kAll, false);
  EXPECT_STREQ(without.wrong, kTooMuch);
  const Seen with = run((std::string("with ") + cure).c_str(), scenario, kAll, false);
  EXPECT_EQ(with.wrong, nullptr) << with.how;
}

TEST(ModelHazard, AClientLivesUnderBothKeysWithoutTheCure) {
  breaks_without<table::Cures{.both_keys = false}>("a look at both keys",
                                                   new_client({accepts(), moves()}));
}

TEST(ModelHazard, AStateThatIsCopiedIsSpentTwiceWithoutTheCure) {
  Actor twice = accepts();
  twice.calls.push_back(twice.calls[0]);
  Scenario scenario = new_client({twice, moves()});
  scenario.limits[0].capacity = 2;
  breaks_without<table::Cures{.moves_at_once = false}>("going over at once", scenario);
}

}  // namespace
}  // namespace suimon::model
