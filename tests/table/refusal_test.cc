// A refusal leaves nothing behind: the whole region is compared, byte by byte.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/table/scene.h"

namespace suimon::table {
namespace {

using namespace test;

constexpr Instant kNow = at(1h);

class Refusal : public testing::Test {
 protected:
  Refusal() {
    take_one(scene.table, {.key = kA, .amount = 5, .shape = slow}, kNow);
    take_one(scene.table, {.key = kB, .amount = 2, .shape = wide}, kNow);
    take_one(scene.table, everybody(5), kNow);
  }
  Charge spent(std::uint64_t amount = 1) const {
    return {.key = kA, .amount = amount, .shape = slow};
  }
  Charge rich(std::uint64_t amount = 1) const {
    return {.key = kB, .amount = amount, .shape = wide};
  }
  Charge absent(std::uint64_t which, std::uint64_t amount = 1) const {
    return {.key = key_number(which), .amount = amount, .shape = wide};
  }
  Charge everybody(std::uint64_t amount = 1) const {
    return {.key = kC, .amount = amount, .shape = slow, .keyless = true};
  }
  static Charge with(Charge charge, Op op) {
    charge.op = op;
    return charge;
  }

  // The region without its figures.
  std::vector<std::byte> states() const {
    std::vector<std::byte> bytes = scene.copy();
    const auto figures = bytes.begin() + sizeof(Header);
    std::fill(figures, figures + kShards * sizeof(Shard), std::byte{0});
    return bytes;
  }

  template <std::size_t kCount>
  void expect_refused_without_trace(const std::array<Charge, kCount>& charges, Instant now = kNow) {
    const auto before = scene.copy();
    for (int i = 0; i < 2; ++i) {
      EXPECT_FALSE(take_all(scene.table, charges, now));
      EXPECT_TRUE(std::ranges::equal(before, scene.table.bytes()));
    }
  }
  // Served, and yet nothing was asked that would change a state.
  template <std::size_t kCount>
  void expect_served_without_trace(const std::array<Charge, kCount>& charges) {
    const auto before = scene.copy();
    EXPECT_TRUE(take_all(scene.table, charges, kNow));
    EXPECT_TRUE(std::ranges::equal(before, scene.table.bytes()));
  }
  // All twelve places owe: nobody gives way.
  void fill() {
    for (std::uint64_t i = 100; i < 300; ++i) {
      take_one(scene.table, {.key = key_number(i), .amount = 5, .shape = slow}, kNow);
    }
    ASSERT_EQ(scene.table.figures().entries, 12u);
    // What the overflow bucket still had is gone as well.
    const Charge newcomer{.key = key_number(300), .amount = 100, .shape = wide};
    ASSERT_TRUE(take_one(scene.table, newcomer, kNow).allowed());
  }

  Scene scene;
  const ShapeNumber slow = scene.add("slow", {5, per_second(1)}, {.largest_cost = 5});
  const ShapeNumber wide = scene.add("wide", {100, per_second(1)}, {.largest_cost = 100});
};

TEST_F(Refusal, OfOneCharge) {
  expect_refused_without_trace(std::array{spent()});
  expect_refused_without_trace(std::array{rich(99)});
  expect_refused_without_trace(std::array{everybody()});
}

TEST_F(Refusal, OfOneWhoseClockLags) {
  expect_refused_without_trace(std::array{spent()}, at(0s));
  expect_refused_without_trace(std::array{rich(99), absent(1)}, at(0s));
}

TEST_F(Refusal, OfWhatNeverFits) {
  expect_refused_without_trace(std::array{spent(6)});
  expect_refused_without_trace(std::array{absent(1, 101)});
  expect_refused_without_trace(std::array{everybody(6)});
  expect_refused_without_trace(std::array{absent(1), rich(), absent(2, 101)});
}

TEST_F(Refusal, OfAGroupByItsFirstOrLastCharge) {
  expect_refused_without_trace(std::array{spent(), rich()});
  expect_refused_without_trace(std::array{rich(), spent()});
  expect_refused_without_trace(std::array{rich(), everybody()});
}

TEST_F(Refusal, OfAGroupWithKeysThatAreAbsent) {
  expect_refused_without_trace(std::array{absent(1), spent(), absent(2)});
  expect_refused_without_trace(std::array{absent(1), absent(2), everybody()});
  expect_refused_without_trace(std::array{absent(1), absent(2), rich(99), absent(3)});
  EXPECT_EQ(scene.table.figures().entries, 2u);
}

// Each would fit, both do not.
TEST_F(Refusal, OfOneKeyTwice) {
  expect_refused_without_trace(std::array{rich(50), rich(49)});
  expect_refused_without_trace(std::array{absent(1, 60), absent(1, 60), absent(2)});
}

TEST_F(Refusal, OfAReservationThatWouldWaitTooLong) {
  Charge reservation = with(spent(3), Op::reserve);
  reservation.max_wait = 2s;
  expect_refused_without_trace(std::array{reservation});
  expect_refused_without_trace(std::array{absent(1), reservation});
}

TEST_F(Refusal, OfALook) {
  expect_refused_without_trace(std::array{with(spent(), Op::peek)});
  expect_refused_without_trace(std::array{with(absent(1, 101), Op::peek)});
  expect_refused_without_trace(std::array{with(spent(), Op::peek), rich(), absent(1)});
}

TEST_F(Refusal, IsNotTheOnlyAnswerThatWritesNothing) {
  expect_served_without_trace(std::array{with(rich(), Op::peek)});
  expect_served_without_trace(std::array{with(absent(1), Op::peek)});
  expect_served_without_trace(std::array{with(absent(1), Op::peek), with(rich(), Op::peek)});
  expect_served_without_trace(std::array{spent(0)});
  expect_served_without_trace(std::array{absent(1, 0)});
  expect_served_without_trace(std::array{everybody(0)});
  expect_served_without_trace(std::array{absent(1, 0), rich(0), spent(0), everybody(0)});
  expect_served_without_trace(std::array{with(spent(), Op::take_up_to)});
  expect_served_without_trace(std::array{with(absent(1), Op::give_back)});
  expect_served_without_trace(std::array<Charge, 0>{});
}

// Refused by the bucket that newcomers share: only the count of such charges changes.
TEST_F(Refusal, OfANewcomerWhoFindsNoPlace) {
  fill();
  const auto before = states();
  const std::uint64_t overflows = scene.table.figures().overflows;
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(take_one(scene.table, absent(1), kNow).allowed());
    EXPECT_EQ(before, states());
  }
  EXPECT_EQ(scene.table.figures().overflows, overflows + 2);
  EXPECT_FALSE(take_one(scene.table, with(absent(1), Op::peek), kNow).allowed());
  EXPECT_EQ(before, states());
}

TEST_F(Refusal, OfAGroupWithNewcomersWhoFindNoPlace) {
  fill();
  const auto before = states();
  EXPECT_FALSE(take_all(scene.table, std::array{rich(), absent(1)}, kNow));
  EXPECT_FALSE(take_all(scene.table, std::array{absent(1), absent(2), rich()}, kNow));
  EXPECT_FALSE(take_all(scene.table, std::array{absent(1), spent()}, kNow));
  EXPECT_EQ(before, states());
}

// One newcomer has a place marked already when it turns out that there is none for the other: the
// mark goes, and nobody owes more. What was full again and gave way is absent now, which is equal.
TEST_F(Refusal, OfAGroupThatHadMarkedAPlace) {
  const Instant before = kNow + 100s;  // A and B are full again
  const Instant now = before + 10s;
  const Charge short_lived{.key = key_number(99), .amount = 5, .shape = slow};
  for (std::uint64_t i = 100; i < 111; ++i) take_one(scene.table, absent(i, 100), before);
  take_one(scene.table, short_lived, before);
  ASSERT_TRUE(take_one(scene.table, absent(1, 100), before).allowed());
  ASSERT_EQ(scene.table.figures().overflows, 1u);
  ASSERT_EQ(owed(scene.table, short_lived, now), 0u);

  EXPECT_FALSE(take_all(scene.table, std::array{absent(1, 50), absent(2, 50)}, now));
  EXPECT_EQ(scene.table.figures().entries, 11u);
  for (std::uint64_t i = 100; i < 111; ++i) EXPECT_EQ(owed(scene.table, absent(i), now), 90u);
  EXPECT_TRUE(take_one(scene.table, absent(1, 100), now).allowed());
  EXPECT_EQ(owed(scene.table, absent(2), now), 90u) << "the overflow bucket";
}

}  // namespace
}  // namespace suimon::table
