// Each cure matters: without it the model finds how a promise to callers is broken; with it, in the
// same scenario, it finds nothing.
#include <gtest/gtest.h>

#include <string>

#include "tests/model/families.h"
#include "tests/model/run.h"

namespace suimon::model {
namespace {

using table::Cures;

constexpr const char* kTooMuch = "more was admitted than C + floor(R*t)";
constexpr const char* kNoReason = "refused, though the tokens were there all the time";

// Only promises are watched, not how the table keeps them.
template <Cures kCures>
void breaks_without(const char* cure, const char* promise, const Scenario& scenario) {
  const Bounds bounds{.nonces = 2};
  const Seen without =
      run<kCures>((std::string("without ") + cure).c_str(), scenario, bounds, false);
  ASSERT_NE(without.wrong, nullptr);
  EXPECT_STREQ(without.wrong, promise);
  const Seen with = run((std::string("with ") + cure).c_str(), scenario, bounds, false);
  EXPECT_EQ(with.wrong, nullptr) << with.how;
}

const Key kA = client('A', 0, 1);
const Key kB = client('B', 0, 1);

// Slot 0 gives way for those whose clock says 5 or more: two threads find A different places.
Scenario different_places(std::vector<Actor> actors) {
  return {.limits = {{}, kOfResidents},
          .residents = {{0, client('x'), 5ns, 0}},
          .actors = std::move(actors)};
}

TEST(ModelHazard, OneKeyLivesTwiceWithoutTheCure) {
  breaks_without<Cures{.verify = false}>(
      "verify", kTooMuch, different_places({takes(0ns, {charge(kA)}), takes(5ns, {charge(kA)})}));
}

TEST(ModelHazard, AClockThatLagsBringsAKeyBackFullWithoutTheCure) {
  breaks_without<Cures{.horizon = false}>(
      "the horizon", kTooMuch,
      {.actors = {takes(0ns, {charge(kA)}), takes(20ns, {charge(kB)}), takes(0ns, {charge(kA)})}});
}

TEST(ModelHazard, AKeyComesAndGoesDuringTheLookWithoutTheCure) {
  breaks_without<Cures{.horizon_after_verify = false}>(
      "the horizon read late", kTooMuch,
      different_places(
          {takes(0ns, {charge(kA)}), takes(5ns, {charge(kA)}), takes(20ns, {charge(kB)})}));
}

TEST(ModelHazard, SomebodyNewIsRefusedWithoutTheCure) {
  breaks_without<Cures{.late_newcomers = false}>(
      "decisions at the horizon", kNoReason,
      {.residents = {{0, client('x'), 10ns}},
       .horizon = at(0ns),
       .actors = {takes(0ns, {charge(kA)}), takes(20ns, {charge(kB)})}});
}

TEST(ModelHazard, AStateIsReadInHalvesWithoutTheCure) {
  breaks_without<Cures{.wide_reads = false}>(
      "wide reads", kNoReason,
      {.residents = {{0, kA, 10ns}},
       .actors = {takes(20ns, {charge(kA)}), takes(20ns, {charge(kB)})}});
}

}  // namespace
}  // namespace suimon::model
