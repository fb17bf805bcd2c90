// While one secret replaces another: a client has two keys and one bucket, in every store.
#include <array>
#include <random>

#include "tests/core/model.h"
#include "tests/store/contract.h"

namespace suimon::test {
namespace {

// A client under the secret that is replaced and the one that replaces it.
const Key kOlder = key_number(7'000'000'001);
const Key kNewer = key_number(7'000'000'002);

// What loops bring, step after step; each may come at the same time as the one before it.
Charge before(ShapeNumber shape) { return {.key = kOlder, .shape = shape}; }
Charge accepting(ShapeNumber shape) {
  return {.key = kOlder, .shape = shape, .rekey = Rekey::accept, .other = kNewer};
}
Charge moving(ShapeNumber shape) {
  return {.key = kNewer, .shape = shape, .rekey = Rekey::move, .other = kOlder};
}
Charge after(ShapeNumber shape) { return {.key = kNewer, .shape = shape}; }

bool admits(StoreWithLimit& s, Charge charge, Instant now, std::uint64_t amount = 1) {
  charge.amount = amount;
  return take_one(*s.store, charge, now).allowed();
}
std::uint64_t left(StoreWithLimit& s, Charge charge, Instant now) {
  charge.op = Op::peek;
  return take_one(*s.store, charge, now).remaining();
}

class TwoSecrets : public StoreContract {};

TEST_P(TwoSecrets, WhatWasSpentUnderTheOneIsSpentUnderTheOther) {
  StoreWithLimit s(GetParam(), {10, per_second(1)}, at(0s));
  EXPECT_TRUE(admits(s, before(s.shape), at(0s), 10));
  EXPECT_FALSE(admits(s, accepting(s.shape), at(0s)));
  EXPECT_FALSE(admits(s, moving(s.shape), at(0s)));
  EXPECT_TRUE(admits(s, moving(s.shape), at(3s), 2));
  EXPECT_EQ(left(s, moving(s.shape), at(3s)), 1U);
  EXPECT_EQ(left(s, after(s.shape), at(3s)), 1U);    // it has gone over
  EXPECT_EQ(left(s, before(s.shape), at(3s)), 10U);  // and is here no more
  EXPECT_EQ(s.store->figures().entries, 1U);
}

TEST_P(TwoSecrets, ARefusalOrALookLeavesTheStateWhereItIs) {
  StoreWithLimit s(GetParam(), {10, per_second(1)}, at(0s));
  EXPECT_TRUE(admits(s, before(s.shape), at(0s), 10));
  EXPECT_FALSE(admits(s, moving(s.shape), at(0s)));
  EXPECT_EQ(left(s, moving(s.shape), at(5s)), 5U);
  EXPECT_EQ(left(s, accepting(s.shape), at(5s)), 5U);
  EXPECT_EQ(s.store->figures().entries, 1U);
}

TEST_P(TwoSecrets, LoopsThatAreAStepBehindSpendFromTheSameBucket) {
  StoreWithLimit s(GetParam(), {4, per_second(1)}, at(0s));
  EXPECT_TRUE(admits(s, accepting(s.shape), at(0s)));
  EXPECT_TRUE(admits(s, before(s.shape), at(0s)));
  EXPECT_TRUE(admits(s, moving(s.shape), at(0s)));
  EXPECT_TRUE(admits(s, accepting(s.shape), at(0s)));
  EXPECT_FALSE(admits(s, moving(s.shape), at(0s)));
  EXPECT_FALSE(admits(s, accepting(s.shape), at(0s)));
  EXPECT_EQ(s.store->figures().entries, 1U);
}

TEST_P(TwoSecrets, GivingBackMakesTheOneBucketFuller) {
  StoreWithLimit s(GetParam(), {10, per_second(1)}, at(0s));
  EXPECT_TRUE(admits(s, before(s.shape), at(0s), 10));
  Charge gives = moving(s.shape);
  gives.op = Op::give_back;
  gives.amount = 10;
  take_one(*s.store, gives, at(0s));
  EXPECT_EQ(left(s, moving(s.shape), at(0s)), 10U);
  EXPECT_TRUE(admits(s, moving(s.shape), at(0s), 10));
  EXPECT_FALSE(admits(s, moving(s.shape), at(0s)));
}

TEST_P(TwoSecrets, OfAPairOneMayHaveGoneOverAndTheOtherNot) {
  StoreWithLimit s(GetParam(), {5, per_second(1)}, at(0s));
  const ShapeNumber broad = s.add("broad", {8, per_second(1)}, at(0s));
  const auto broad_of = [&](Charge charge) {
    charge.key = key_number(charge.key.low);
    charge.other = key_number(charge.other.low);
    charge.shape = broad;
    return charge;
  };
  const auto takes = [&](const Charge& charge) {
    const std::array<Charge, 2> both{charge, broad_of(charge)};
    std::array<Decision, 2> heard;
    bool taken = false;
    EXPECT_TRUE(take_group(*s.store, both, heard, at(0s), &taken));
    return taken;
  };
  EXPECT_TRUE(takes(before(s.shape)));
  EXPECT_TRUE(admits(s, moving(s.shape), at(0s)));  // the narrow one goes over
  EXPECT_TRUE(takes(moving(s.shape)));
  EXPECT_TRUE(takes(accepting(s.shape)));
  EXPECT_TRUE(takes(moving(s.shape)));
  EXPECT_FALSE(takes(moving(s.shape)));  // and a refusal takes nothing from the broad one
  EXPECT_EQ(left(s, broad_of(moving(s.shape)), at(0s)), 4U);
  EXPECT_EQ(s.store->figures().entries, 2U);
}

// Whoever keeps his bucket empty has no whole capacity when the old secret goes.
TEST_P(TwoSecrets, NobodyIsPardonedWhenTheOlderOneGoes) {
  StoreWithLimit s(GetParam(), {10, per_second(1)}, at(0s));
  EXPECT_TRUE(admits(s, before(s.shape), at(0s), 10));
  for (int second = 1; second <= 10; ++second) {
    EXPECT_TRUE(admits(s, moving(s.shape), at(std::chrono::seconds(second))));
    EXPECT_FALSE(admits(s, moving(s.shape), at(std::chrono::seconds(second))));
  }
  EXPECT_FALSE(admits(s, after(s.shape), at(10s)));
}

TEST_P(TwoSecrets, AChangeOfParametersIsReadOnTheWay) {
  StoreWithLimit s(GetParam(), {10, per_second(1)}, at(0s));
  EXPECT_TRUE(admits(s, before(s.shape), at(0s), 10));
  s.change({20, per_second(2)}, at(0s));
  EXPECT_EQ(left(s, moving(s.shape), at(0s)), 10U);
  EXPECT_TRUE(admits(s, moving(s.shape), at(0s), 10));
  EXPECT_FALSE(admits(s, moving(s.shape), at(0s)));
}

// Steps that are mixed at random, on many clients: what one bucket each would say.
TEST_P(TwoSecrets, AnyOrderOfStepsIsOneBucketEach) {
  Dice dice(1);
  for (int round = 0; round < 50; ++round) {
    const Limit limit{dice.uniform(1, 20), {dice.uniform(1, 9), 10s}};
    StoreWithLimit s(bounded(2000), limit, at(0s));
    StoreWithLimit judge("reference://", limit, at(0s));
    Duration now = 0s;
    int step = 0;  // the pair of steps that may be mixed begins here
    for (int i = 0; i < 400; ++i) {
      if (dice.one_in(150) && step < 1) ++step;
      now += Duration(static_cast<std::int64_t>(dice.any_size(0, 3'000'000'000)));
      const std::uint64_t who = dice.uniform(1, 5);
      const int chosen = step + static_cast<int>(dice.uniform(0, 1));
      Charge charge = chosen == 0   ? before(s.shape)
                      : chosen == 1 ? accepting(s.shape)
                                    : moving(s.shape);
      charge.key = key_number(charge.key.low + who);
      charge.other = key_number(charge.other.low + who);
      charge.amount = dice.uniform(1, limit.capacity);
      if (dice.one_in(10)) charge.op = Op::give_back;
      Charge plain{.key = key_number(who), .amount = charge.amount, .shape = judge.shape};
      plain.op = charge.op;
      const Decision is = take_one(*s.store, charge, at(now));
      const Decision should = take_one(*judge.store, plain, at(now));
      ASSERT_EQ(is.outcome(), should.outcome()) << "round " << round << ", request " << i;
      ASSERT_EQ(is.remaining(), should.remaining()) << "round " << round << ", request " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TwoSecrets, testing::ValuesIn(store_urls()), [](const auto& test) {
  return test.param.substr(0, test.param.find(':'));
});

}  // namespace
}  // namespace suimon::test
