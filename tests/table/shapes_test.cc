// Limits in a table: as many as it was made for, adopted late or early, changed under traffic.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/table/scene.h"
#include "tests/table/threads.h"

namespace suimon::table {
namespace {

using namespace test;

TEST(TableShapes, MoreThanTheTableWasMadeForAreAnError) {
  Scene scene({.keys = 1, .shapes = 2, .descriptors = 1});
  const ShapeNumber first = scene.add("first", {5, per_day(1)});
  const ShapeNumber second = scene.add("second", {5, per_day(1)});
  const auto third =
      scene.shapes.assign("third", "", Algorithm::token_bucket, {5, per_day(1)}, Instant::min());
  ASSERT_TRUE(third);
  const auto before = scene.copy();
  const auto adopted = scene.table.adopt({&*third, 1});
  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().text, "this table was made for 2 limits");
  // A change of one that is known needs a number too.
  const auto changed =
      scene.shapes.assign("first", "", Algorithm::token_bucket, {6, per_day(1)}, Instant::min());
  ASSERT_TRUE(changed);
  EXPECT_FALSE(scene.table.adopt({&*changed, 1}));
  EXPECT_EQ(before, scene.copy()) << "the known ones stay as they were";
  for (const ShapeNumber shape : {first, second}) {
    const Charge charge{.key = key_number(shape), .amount = 5, .shape = shape};
    EXPECT_TRUE(take_one(scene.table, charge, at(0s)).allowed());
    EXPECT_TRUE(take_one(scene.table, charge, at(0s)).limited());
  }
}

TEST(TableShapes, AdoptedTwiceAreTheSame) {
  Scene scene;
  const ShapeNumber shape = scene.add("limit", {5, per_day(1)});
  const auto before = scene.copy();
  const Shape* const known = &scene.shapes[shape];
  ASSERT_TRUE(scene.table.adopt({&known, 1}));
  EXPECT_EQ(before, scene.copy());
}

// The largest cost of one request may change while the shape stays: who owes too much for it is
// limited from then on, and no longer gives way.
TEST(TableShapes, TheLargestCostIsTheNewestOne) {
  const auto pushed_out = [](std::uint64_t largest_cost) {
    Scene scene;
    const ShapeNumber shape = scene.add("limit", {10, per_day(1)});
    const Charge half{.key = kA, .amount = 5, .shape = shape};
    EXPECT_TRUE(take_one(scene.table, half, at(0s)).allowed());
    EXPECT_EQ(scene.add("limit", {10, per_day(1)}, {.largest_cost = largest_cost}), shape);
    for (std::uint64_t i = 0; i < 100; ++i) {
      take_one(scene.table, {.key = key_number(i), .amount = 10, .shape = shape}, at(0s));
    }
    return scene.slot_of(kA) == nullptr;
  };
  EXPECT_TRUE(pushed_out(5));
  EXPECT_FALSE(pushed_out(6));
}

// Somebody who had spent all at 10 a second; then came 1 a minute, then 100 a second, then 7 a day.
struct Change {
  Limit limit;
  Instant since;
};
constexpr std::array kChanges{
    Change{{100, per_second(10)}, at(0s)}, Change{{50, per_minute(1)}, at(2s)},
    Change{{80, per_second(100)}, at(120s)}, Change{{90, per_day(7)}, at(120s + 100ms)}};

TEST(TableShapes, APredecessorThatComesLateTellsTheSame) {
  const auto remaining = [](bool at_once) {
    Scene scene;
    const ShapeNumber first = scene.add("limit", kChanges[0].limit, {.since = kChanges[0].since});
    const Charge all{.key = kA, .amount = 100, .shape = first};
    EXPECT_TRUE(take_one(scene.table, all, at(1s)).allowed());
    const Shape* last = nullptr;
    for (std::size_t i = 1; i < kChanges.size(); ++i) {
      last = *scene.shapes.assign("limit", "", Algorithm::token_bucket, kChanges[i].limit,
                                  kChanges[i].since);
      if (at_once) {
        EXPECT_TRUE(scene.table.adopt({&last, 1}));
      }
    }
    // Only the last one is told; those between come with it.
    EXPECT_TRUE(scene.table.adopt({&last, 1}));
    Charge look{.key = kA, .amount = 0, .shape = last->number, .op = Op::peek};
    const Decision newest = take_one(scene.table, look, at(200s));
    look.shape = first;  // a thread that has not seen the change yet
    const Decision oldest = take_one(scene.table, look, at(200s));
    EXPECT_EQ(newest.remaining(), oldest.remaining());
    EXPECT_EQ(oldest.capacity(), 90u);
    return newest.remaining();
  };
  // Of the 100 owed flow in: 10 until 2 s, nearly 2 until 120 s, then 10, then hardly any.
  EXPECT_EQ(remaining(true), 11u);
  EXPECT_EQ(remaining(false), remaining(true));
}

// A change of tier counts from the request that shows it; both tiers share the overflow bucket.
TEST(TableShapes, TiersOfOneLimitShareOneState) {
  Scene scene;
  const ShapeNumber plain = scene.add("limit", {10, per_second(1)}, {.largest_cost = 10});
  const ShapeNumber gold =
      scene.add("limit", {100, per_second(10)}, {.largest_cost = 100, .tier = "gold"});
  EXPECT_TRUE(take_one(scene.table, {.key = kA, .amount = 10, .shape = plain}, at(0s)).allowed());
  const Decision better = take_one(scene.table, {.key = kA, .amount = 5, .shape = gold}, at(1s));
  EXPECT_TRUE(better.allowed());
  EXPECT_EQ(better.remaining(), 100u - 9 - 5);
  const Decision worse = take_one(scene.table, {.key = kA, .amount = 1, .shape = plain}, at(1s));
  EXPECT_TRUE(worse.limited());

  const Charge everybody{.key = kB, .amount = 10, .shape = plain, .keyless = true};
  EXPECT_TRUE(take_one(scene.table, everybody, at(1s)).allowed());
  EXPECT_EQ(owed(scene.table, {.key = kB, .shape = gold, .keyless = true}, at(1s)), 10u);
}

// What a decision that is stopped has claimed is judged by what it was before, too.
TEST(TableShapes, AClaimInTheWayIsEndedBeforeItsStateIsConverted) {
  Scene scene;
  const ShapeNumber first = scene.add("limit", {10, per_second(1)}, {.since = at(0s)});
  const Charge four{.key = kA, .amount = 4, .shape = first};
  EXPECT_TRUE(take_one(scene.table, four, at(0s)).allowed());
  // The owner has claimed the slot and is not seen again.
  Slot& slot = *scene.slot_of(kA);
  const Slot before = slot;
  Descriptor& descriptor = scene.memory.descriptors[7];
  Entry& entry = descriptor.entries[0];
  entry = {static_cast<std::uint64_t>(&slot - scene.memory.slots), before, before};
  descriptor.count = 1;
  descriptor.status = status_of(1, State::undecided);
  slot = {with_kind(before.id, Kind::claimed), word_of({7, 1, 0})};
  const ShapeNumber second = scene.add("limit", {20, per_second(2)}, {.since = at(1s)});
  scene.table.convert_replaced();
  EXPECT_EQ(kind_of(slot.id), Kind::live);
  EXPECT_EQ(shape_of(slot.id), second);
  EXPECT_EQ(owed(scene.table, {.key = kA, .shape = second}, at(1s)), 3u);
}

TEST(TableShapes, StatesWithoutAKeyAndOfOverflowAreConvertedToo) {
  Scene scene;
  const ShapeNumber first =
      scene.add("limit", {10, per_second(1)}, {.largest_cost = 10, .since = at(0s)});
  EXPECT_TRUE(
      take_one(scene.table, {.key = kB, .amount = 10, .shape = first, .keyless = true}, at(0s))
          .allowed());
  for (std::uint64_t i = 0; i < 13; ++i) {
    take_one(scene.table, {.key = key_number(i), .amount = 10, .shape = first}, at(0s));
  }
  EXPECT_EQ(scene.table.figures().overflows, 1u);
  const ShapeNumber second =
      scene.add("limit", {20, per_second(2)}, {.largest_cost = 10, .since = at(1s)});
  const auto replaced = scene.shapes.replaced();
  scene.table.convert_replaced();
  scene.table.forget(replaced);
  scene.shapes.release(replaced);
  // The number means something very different now, and nobody owes more or less for it.
  EXPECT_EQ(scene.add("limit", {1'000, per_day(1)}, {.largest_cost = 10, .since = at(1s)}), first);
  EXPECT_EQ(owed(scene.table, {.key = kB, .shape = second, .keyless = true}, at(1s)), 9u);
  for (std::uint64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(owed(scene.table, {.key = key_number(i), .shape = second}, at(1s)), 9u);
  }
  EXPECT_EQ(shape_of(scene.memory.own[first].overflow.id), second);
}

// Threads take while the limit changes under them, each knowing one of the changes or none: no
// state is lost and nobody is told more than the most that ever was allowed.
TEST(TableShapes, ChangesUnderTrafficKeepEveryDebt) {
  constexpr std::uint64_t kChangesInAll = 150;
  constexpr unsigned kThreads = 4;
  constexpr std::uint64_t kKeys = 20;
  const std::uint64_t calls = 5'000 * stretch() / kSanitized;
  Scene scene({.keys = 100, .shapes = kChangesInAll + 1, .descriptors = 8});
  scene.add("limit", {1'000, per_day(1)}, {.largest_cost = 1'000, .since = at(0s)});
  std::atomic<ShapeNumber> newest{0};
  std::array<std::atomic<std::uint64_t>, kKeys> spent{};
  seed();
  in_threads(kThreads + 1, [&](unsigned number) {
    Dice dice(900 + number);
    if (number == kThreads) {
      for (std::uint64_t i = 1; i <= kChangesInAll; ++i) {
        newest = scene.add("limit", {1'000 + i % 2, per_day(1)},
                           {.largest_cost = 1'000, .since = at(1s)});
        for (std::uint64_t pause = dice.any_size(1, 20'000); pause > 0; --pause) RealSteps::pause();
      }
      return;
    }
    for (std::uint64_t call = 0; call < calls; ++call) {
      const auto shape = static_cast<ShapeNumber>(dice.uniform(0, newest));
      const std::uint64_t key = dice.uniform(0, kKeys - 1);
      const std::uint64_t other = (key + dice.uniform(1, kKeys - 1)) % kKeys;
      const Charge one{.key = key_number(key), .amount = 3, .shape = shape};
      if (dice.one_in(2)) {
        if (take_one(scene.table, one, at(1s)).allowed()) spent[key] += 3;
      } else if (take_all(scene.table,
                          std::array{one, Charge{.key = key_number(other), .shape = shape}},
                          at(1s))) {
        spent[key] += 3;
        spent[other] += 1;
      }
    }
  });
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    EXPECT_LE(spent[key], 1'001u);
    const Charge charge{.key = key_number(key), .shape = newest};
    EXPECT_EQ(owed(scene.table, charge, at(1s)), std::min<std::uint64_t>(spent[key], 1'000));
  }
  EXPECT_EQ(scene.table.figures().evictions + scene.table.figures().overflows, 0u);
}

}  // namespace
}  // namespace suimon::table
