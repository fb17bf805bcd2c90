// What each cure keeps away, without threads: with the cure the table stands, without it it breaks
// as it is said to (cures.h). What takes two threads is in stopped_test.cc, three_lines in
// filling_test.cc.

#include <gtest/gtest.h>

#include "tests/core/model.h"
#include "tests/table/scene.h"

namespace suimon::table {
namespace {

using namespace test;

// A flood of invented keys, one charge each.
template <class Any>
void flood(Any& table, std::uint64_t keys, ShapeNumber shape, std::uint64_t amount, Instant now) {
  for (std::uint64_t i = 0; i < keys; ++i) {
    take_one(table, {.key = key_number(5'000 + i), .amount = amount, .shape = shape}, now);
  }
}

// How much somebody still owes, who had spent half of 100,000 tokens at 1000/s, after a flood of
// keys that took one token of 10 a day each.
template <Cures kCures>
std::uint64_t owed_after_a_slow_flood() {
  Scene scene;
  const ShapeNumber fast = scene.add("fast", {100'000, per_second(1'000)});
  const ShapeNumber slow = scene.add("slow", {10, per_day(10)});
  auto table = scene.with<kCures>();
  const Charge half{.key = kA, .amount = 50'000, .shape = fast};
  EXPECT_TRUE(take_one(table, half, at(1h)).allowed());
  flood(table, 1'000, slow, 1, at(1h));
  EXPECT_GT(scene.table.figures().evictions, 900u);
  return owed(table, half, at(1h));
}

TEST(Hazards, OneTokenOfASlowLimitOutranksHalfOfAFastOne) {
  EXPECT_EQ(owed_after_a_slow_flood<Cures{}>(), 50'000u);
  EXPECT_EQ((owed_after_a_slow_flood<Cures{.by_share = false}>()), 0u);
}

// Whether somebody who has spent all is still refused after a flood of keys that spent all later.
template <Cures kCures>
bool refused_after_a_flood() {
  Scene scene;
  const ShapeNumber shape = scene.add("limit", {5, per_day(1)});
  auto table = scene.with<kCures>();
  const Charge all{.key = kA, .amount = 5, .shape = shape};
  EXPECT_TRUE(take_one(table, all, at(0s)).allowed());
  flood(table, 1'000, shape, 5, at(10s));
  return take_one(table, {.key = kA, .shape = shape}, at(11s)).limited();
}

TEST(Hazards, AFloodPardonsWhoIsLimited) {
  EXPECT_TRUE(refused_after_a_flood<Cures{}>());
  EXPECT_FALSE(refused_after_a_flood<Cures{.spare_limited = false}>());
}

// What is there an hour after 10 a second became 1 a day, for somebody who had spent all.
template <Cures kCures>
std::uint64_t there_after_a_change() {
  Scene scene;
  const ShapeNumber before = scene.add("limit", {100, per_second(10)}, {.since = at(0s)});
  auto table = scene.with<kCures>();
  EXPECT_TRUE(take_one(table, {.key = kA, .amount = 100, .shape = before}, at(1s)).allowed());
  const ShapeNumber after = scene.add("limit", {100, per_day(1)}, {.since = at(2s)});
  const Charge look{.key = kA, .amount = 0, .shape = after, .op = Op::peek};
  return take_one(table, look, at(1h)).remaining();
}

TEST(Hazards, AChangeOfParametersCountsFromTheNextTouch) {
  EXPECT_EQ(there_after_a_change<Cures{}>(), 10u);
  EXPECT_EQ((there_after_a_change<Cures{.change_at_its_instant = false}>()), 100u);
}

// What a limit without a key has left after a flood, when everybody had taken 40 of 100.
template <Cures kCures>
std::uint64_t left_to_everybody() {
  Scene scene;
  const ShapeNumber global = scene.add("global", {100, per_day(1)});
  const ShapeNumber shape = scene.add("limit", {5, per_day(1)});
  auto table = scene.with<kCures>();
  Charge everybody{.key = kA, .amount = 40, .shape = global, .keyless = true};
  EXPECT_TRUE(take_one(table, everybody, at(0s)).allowed());
  flood(table, 1'000, shape, 5, at(0s));
  everybody.amount = 0;
  return take_one(table, everybody, at(0s)).remaining();
}

TEST(Hazards, AFloodPushesOutTheStateOfALimitWithoutAKey) {
  EXPECT_EQ(left_to_everybody<Cures{}>(), 60u);
  EXPECT_NE((left_to_everybody<Cures{.own_places = false}>()), 60u);
}

constexpr Limit kTen{10, per_second(1)};

// A has spent ten at 0 s, is full again and was reclaimed by a thread whose clock reads 12 s,
// beside states that have long been full. Then A comes to a thread whose clock reads less.
template <Cures kCures>
Decision after_reclaim(std::uint64_t cost, Instant lagging) {
  Scene scene;
  const ShapeNumber shape = scene.add("limit", kTen, {.largest_cost = 10});
  auto table = scene.with<kCures>();
  flood(table, 11, shape, 1, at(-20s));
  EXPECT_TRUE(take_one(table, {.key = kA, .amount = 10, .shape = shape}, at(0s)).allowed());
  for (std::uint64_t i = 0; scene.slot_of(kA) != nullptr; ++i) {
    take_one(table, {.key = key_number(i), .shape = shape}, at(12s));
  }
  const Decision late = take_one(table, {.key = kA, .amount = cost, .shape = shape}, lagging);
  EXPECT_EQ(scene.table.figures().overflows, 0u);
  return late;
}

bool in_bound_after_ten(const Decision& second) {
  Admissions admitted;
  admitted.add(0, 10);
  admitted.add(second.at().ns, second.granted());
  return admitted.within(kTen);
}

TEST(Hazards, AClockThatLagsInsertsAReclaimedStateFull) {
  const Decision cured = after_reclaim<Cures{}>(10, at(1s));
  EXPECT_TRUE(cured.allowed());
  EXPECT_EQ(cured.at(), at(12s));
  EXPECT_TRUE(in_bound_after_ten(cured));
  const Decision bare = after_reclaim<Cures{.horizon = false}>(10, at(1s));
  EXPECT_TRUE(bare.allowed());
  EXPECT_FALSE(in_bound_after_ten(bare));
}

// Somebody new, after others were reclaimed: decided at the clock that lags there is nothing.
template <Cures kCures>
Decision newcomer_whose_clock_lags() {
  Scene scene;
  const ShapeNumber shape = scene.add("limit", {1, per_second(1)});
  auto table = scene.with<kCures>();
  flood(scene.table, 12, shape, 1, at(-20s));
  EXPECT_TRUE(take_one(scene.table, {.key = kA, .shape = shape}, at(10s)).allowed());
  return take_one(table, {.key = kB, .shape = shape}, at(9s));
}

TEST(Hazards, AClockThatLagsRefusesSomebodyNew) {
  const Decision cured = newcomer_whose_clock_lags<Cures{}>();
  EXPECT_TRUE(cured.allowed());
  EXPECT_EQ(cured.at(), at(10s));
  EXPECT_TRUE(newcomer_whose_clock_lags<Cures{.late_newcomers = false}>().limited());
}

// A plain give-back after a time is a gift: what was held kept the bucket from overflowing, and
// that should have been lost. So no group is undone by giving back.
TEST(Hazards, WhatIsHeldAndGivenBackLaterIsAGift) {
  Scene scene;
  const ShapeNumber shape = scene.add("limit", kTen);
  const auto charge = [&](std::uint64_t amount, Op op = Op::take) {
    return Charge{.key = kA, .amount = amount, .shape = shape, .op = op};
  };
  Admissions served;  // without what was given back unused
  EXPECT_TRUE(take_one(scene.table, charge(10), at(0s)).allowed());
  EXPECT_TRUE(take_one(scene.table, charge(5), at(5s)).allowed());
  served.add(at(5s).ns, 5);
  take_one(scene.table, charge(10, Op::give_back), at(5s));
  EXPECT_TRUE(take_one(scene.table, charge(10), at(5s)).allowed());
  served.add(at(5s).ns, 10);
  EXPECT_FALSE(served.within(kTen)) << "15 at one instant";
}

// The same with groups: the first, which is refused by another limit, never held anything.
TEST(Hazards, ARefusedGroupHasHeldNothing) {
  Scene scene;
  const ShapeNumber shape = scene.add("limit", kTen);
  const ShapeNumber spent = scene.add("spent", {1, per_day(1)});
  const auto a = [&](std::uint64_t amount) { return Charge{kA, amount, {}, shape}; };
  const Charge b{.key = kB, .shape = spent};
  ASSERT_TRUE(take_one(scene.table, b, at(0s)).allowed());
  EXPECT_FALSE(take_all(scene.table, std::array{a(10), b}, at(0s)));
  EXPECT_TRUE(take_one(scene.table, a(5), at(5s)).allowed());
  EXPECT_FALSE(take_one(scene.table, a(10), at(5s)).allowed());
  EXPECT_TRUE(take_one(scene.table, a(5), at(5s)).allowed());
}

}  // namespace
}  // namespace suimon::table
