// At one instant nothing flows in, so what many threads must be told is exact: with tokens for k
// requests k are admitted, and nobody is refused whose tokens are all there.

#include <gtest/gtest.h>

#include "tests/table/scene.h"
#include "tests/table/threads.h"

namespace suimon::table {
namespace {

using namespace test;

constexpr Instant kNow = at(1h);
constexpr std::uint64_t kTries = 8;  // of each thread in a round

// Parameter: how many threads.
class Frozen : public testing::TestWithParam<unsigned> {
 protected:
  static std::uint64_t rounds() { return 4'000 * stretch() / kSanitized; }
  static Table::Options roomy() {
    return {.keys = 12 * rounds() + 1'000, .shapes = 4, .descriptors = 32};
  }
  std::uint64_t tries() const { return kTries * GetParam(); }  // of all in a round

  // The i-th of the keys of a round, the first ones new ones in every round.
  static Charge charge(std::uint64_t round, std::uint64_t i, ShapeNumber shape) {
    return {.key = key_number(3 * round + i), .shape = shape};
  }

  template <class Take>
  void expect_admitted(std::uint64_t expected, const Take& take) {
    std::vector<std::atomic<std::uint64_t>> admitted(rounds());
    in_rounds(GetParam(), rounds(), [&](unsigned number, std::uint64_t round) {
      for (std::uint64_t i = 0; i < kTries; ++i) {
        if (take(number, round)) admitted[round].fetch_add(1, std::memory_order_relaxed);
      }
    });
    for (std::uint64_t round = 0; round < rounds(); ++round) {
      ASSERT_EQ(admitted[round], expected) << "round " << round;
    }
    EXPECT_EQ(scene.table.figures().overflows, 0u);
    EXPECT_EQ(scene.table.figures().entries, scene.places_taken());
  }
  ShapeNumber add(std::string_view name, std::uint64_t capacity) {
    return scene.add(name, {capacity, per_second(1)});
  }

  Scene scene{roomy()};
};
INSTANTIATE_TEST_SUITE_P(Threads, Frozen, testing::Values(4u, 16u));

TEST_P(Frozen, SingleTakes) {
  const ShapeNumber half = add("half", tries() / 2);
  expect_admitted(tries() / 2, [&](unsigned, std::uint64_t round) {
    return take_one(scene.table, charge(round, 0, half), kNow).allowed();
  });
}

TEST_P(Frozen, PairsInOppositeOrders) {
  const ShapeNumber half = add("half", tries() / 2);
  const ShapeNumber more = add("more", tries() / 2 + 1);
  expect_admitted(tries() / 2, [&](unsigned number, std::uint64_t round) {
    const Charge a = charge(round, 0, half);
    const Charge b = charge(round, 1, more);
    return number % 2 == 0 ? take_all(scene.table, std::array{a, b}, kNow)
                           : take_all(scene.table, std::array{b, a}, kNow);
  });
}

TEST_P(Frozen, TriplesInAllOrders) {
  const ShapeNumber half = add("half", tries() / 2);
  expect_admitted(tries() / 2, [&](unsigned number, std::uint64_t round) {
    std::array<Charge, 3> charges;
    for (std::uint64_t i = 0; i < 3; ++i) {
      const std::uint64_t turned = (number / 2 + i) % 3;
      charges[i] = charge(round, number % 2 == 0 ? turned : 2 - turned, half);
    }
    return take_all(scene.table, charges, kNow);
  });
}

// Every key is in two of the three kinds of pairs, and has tokens for all: nobody is refused for
// what another request holds for a moment.
TEST_P(Frozen, NobodyIsRefusedWhileThereIsEnoughForAll) {
  const ShapeNumber enough = add("enough", 2 * tries());
  expect_admitted(tries(), [&](unsigned number, std::uint64_t round) {
    const Charge one = charge(round, number % 3, enough);
    const Charge other = charge(round, (number + 1) % 3, enough);
    return take_all(scene.table, std::array{one, other}, kNow);
  });
}

// Singles and pairs share a key that is scarce; the key beside it is plenty.
TEST_P(Frozen, SinglesBesidePairs) {
  const ShapeNumber half = add("half", tries() / 2);
  const ShapeNumber plenty = add("plenty", tries());
  expect_admitted(tries() / 2, [&](unsigned number, std::uint64_t round) {
    const Charge scarce = charge(round, 0, half);
    if (number % 2 == 0) return take_one(scene.table, scarce, kNow).allowed();
    return take_all(scene.table, std::array{charge(round, 1, plenty), scarce}, kNow);
  });
}

// Mixed costs: what was granted and what is left are all there was, and who was refused n would be
// refused n now, because tokens only went away.
TEST_P(Frozen, WhoWasRefusedWouldBeRefusedNow) {
  const std::uint64_t capacity = tries();
  const ShapeNumber shape = add("limit", capacity);
  std::vector<std::atomic<std::uint64_t>> granted(rounds());
  std::vector<std::atomic<std::uint64_t>> least_refused(rounds());
  for (auto& least : least_refused) least = ~0ULL;
  seed();
  in_threads(GetParam(), [&](unsigned number) {
    Dice dice(400 + number);
    for (std::uint64_t round = 0; round < rounds(); ++round) {
      for (std::uint64_t i = 0; i < kTries; ++i) {
        const std::uint64_t cost = dice.uniform(1, 4);
        Charge a = charge(round, 0, shape);
        Charge b = charge(round, 1, shape);
        a.amount = b.amount = cost;
        if (take_all(scene.table, number % 2 == 0 ? std::array{a, b} : std::array{b, a}, kNow)) {
          granted[round] += cost;
          continue;
        }
        std::uint64_t least = least_refused[round];
        while (cost < least && !least_refused[round].compare_exchange_weak(least, cost)) {
        }
      }
    }
  });
  for (std::uint64_t round = 0; round < rounds(); ++round) {
    const std::uint64_t left = capacity - owed(scene.table, charge(round, 0, shape), kNow);
    ASSERT_EQ(granted[round] + left, capacity) << "round " << round;
    ASSERT_EQ(left, capacity - owed(scene.table, charge(round, 1, shape), kNow));
    ASSERT_LT(left, least_refused[round]) << "round " << round;
  }
}

// More threads than descriptors: they take turns.
TEST(FrozenScarce, OneDescriptorServesAll) {
  Scene scene({.keys = 1, .shapes = 1, .descriptors = 1});
  const std::uint64_t calls = 10'000 * stretch() / kSanitized;
  const ShapeNumber shape = scene.add("limit", {2 * calls, per_second(1)});
  std::atomic<std::uint64_t> admitted{0};
  Barrier start(4);
  in_threads(4, [&](unsigned number) {
    start.wait();
    for (std::uint64_t i = 0; i < calls; ++i) {
      const std::array pair{Charge{.key = number % 2 == 0 ? kA : kB, .shape = shape},
                            Charge{.key = number % 2 == 0 ? kB : kA, .shape = shape}};
      if (take_all(scene.table, pair, kNow)) ++admitted;
    }
  });
  EXPECT_EQ(admitted, 2 * calls);
}

}  // namespace
}  // namespace suimon::table
