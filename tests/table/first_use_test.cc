// Many threads use a key for the first time at once: it gets one state, and C tokens are spent.

#include <gtest/gtest.h>

#include "tests/table/scene.h"
#include "tests/table/threads.h"

namespace suimon::table {
namespace {

using namespace test;

constexpr std::uint64_t kCapacity = 3;
constexpr Limit kFew{kCapacity, per_minute(1)};
constexpr Limit kPlenty{1'000'000'000, per_second(1)};

// Rounds of one first use each. Parameter: how many threads.
class FirstUse : public testing::TestWithParam<unsigned> {
 protected:
  static std::uint64_t rounds() { return 5'000 * stretch() / kSanitized; }
  // Room for all new keys of all rounds, so that nobody has to give way.
  static Table::Options roomy() {
    return {.keys = 8 * rounds() + 1'000, .shapes = 4, .descriptors = 32};
  }
  static Key new_key(std::uint64_t round, std::uint64_t which = 0) {
    return key_number(2 * round + which);
  }

  // Every thread calls take(number, round) twice in a round: exactly C of these are admitted.
  template <class Take>
  void expect_c_a_round(const Take& take) {
    std::vector<std::atomic<std::uint32_t>> admitted(rounds());
    in_rounds(GetParam(), rounds(), [&](unsigned number, std::uint64_t round) {
      for (int i = 0; i < 2; ++i) {
        if (take(number, round)) admitted[round].fetch_add(1, std::memory_order_relaxed);
      }
    });
    for (std::uint64_t round = 0; round < rounds(); ++round) {
      ASSERT_EQ(admitted[round], kCapacity) << "round " << round;
    }
  }
  static void expect_nobody_gave_way(const Scene& scene) {
    EXPECT_EQ(scene.table.figures().evictions, 0u);
    EXPECT_EQ(scene.table.figures().overflows, 0u);
    EXPECT_EQ(scene.table.figures().entries, scene.places_taken());
  }
};
INSTANTIATE_TEST_SUITE_P(Threads, FirstUse, testing::Values(4u, 16u));

TEST_P(FirstUse, AmongFreePlaces) {
  Scene scene(roomy());
  const ShapeNumber few = scene.add("few", kFew);
  expect_c_a_round([&](unsigned, std::uint64_t round) {
    return take_one(scene.table, {.key = new_key(round), .shape = few}, at(1h)).allowed();
  });
  expect_nobody_gave_way(scene);
  EXPECT_EQ(scene.table.figures().entries, rounds());
}

// All twelve places hold states that are full again: each round takes one of them.
TEST_P(FirstUse, InThePlaceOfAStateThatIsFullAgain) {
  Scene scene;
  const ShapeNumber few = scene.add("few", kFew);
  for (std::uint64_t i = 0; i < 12; ++i) {
    take_one(scene.table, {.key = key_number(~i), .shape = few}, at(0s));
  }
  ASSERT_EQ(scene.table.figures().entries, 12u);
  expect_c_a_round([&](unsigned, std::uint64_t round) {
    const Instant now = at(std::chrono::hours(round + 1));
    return take_one(scene.table, {.key = new_key(round), .shape = few}, now).allowed();
  });
  expect_nobody_gave_way(scene);
}

TEST_P(FirstUse, TogetherWithAKnownKey) {
  Scene scene(roomy());
  const ShapeNumber few = scene.add("few", kFew);
  const ShapeNumber plenty = scene.add("plenty", kPlenty);
  const Charge known{.key = kA, .shape = plenty};
  take_one(scene.table, known, at(1h));
  expect_c_a_round([&](unsigned number, std::uint64_t round) {
    const Charge fresh{.key = new_key(round), .shape = few};
    return number % 2 == 0 ? take_all(scene.table, std::array{fresh, known}, at(1h))
                           : take_all(scene.table, std::array{known, fresh}, at(1h));
  });
  expect_nobody_gave_way(scene);
  EXPECT_EQ(owed(scene.table, known, at(1h)), kCapacity * rounds() + 1);
}

TEST_P(FirstUse, OfTwoKeysInOppositeOrders) {
  Scene scene(roomy());
  const ShapeNumber few = scene.add("few", kFew);
  expect_c_a_round([&](unsigned number, std::uint64_t round) {
    const Charge one{.key = new_key(round, number % 2), .shape = few};
    const Charge other{.key = new_key(round, 1 - number % 2), .shape = few};
    return take_all(scene.table, std::array{one, other}, at(1h));
  });
  expect_nobody_gave_way(scene);
  EXPECT_EQ(scene.table.figures().entries, 2 * rounds());
}

// Alone in one thread, beside a known key in the next one, beside a state of everybody's in others.
TEST_P(FirstUse, AloneAndInGroups) {
  Scene scene(roomy());
  const ShapeNumber few = scene.add("few", kFew);
  const ShapeNumber plenty = scene.add("plenty", kPlenty);
  const Charge known{.key = kA, .shape = plenty};
  const Charge everybody{.key = kB, .shape = plenty, .keyless = true};
  expect_c_a_round([&](unsigned number, std::uint64_t round) {
    const Charge fresh{.key = new_key(round), .shape = few};
    if (number % 3 == 0) return take_one(scene.table, fresh, at(1h)).allowed();
    if (number % 3 == 1) return take_all(scene.table, std::array{known, fresh}, at(1h));
    return take_all(scene.table, std::array{everybody, fresh}, at(1h));
  });
  expect_nobody_gave_way(scene);
}

}  // namespace
}  // namespace suimon::table
