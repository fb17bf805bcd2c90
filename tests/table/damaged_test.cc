// Any bit pattern in a slot is harmless: the table answers, does not hang, and what nobody has
// damaged stays as it was. (Headers and limits are not damaged here.)

#include <gtest/gtest.h>

#include <cstring>

#include "tests/table/scene.h"

namespace suimon::table {
namespace {

using namespace test;

constexpr std::uint64_t kKeys = 24;

class Damaged : public testing::Test {
 protected:
  Damaged() {
    scene.add("few", {5, per_second(1)}, {.largest_cost = 5});
    scene.add("many", {1'000, per_day(7)}, {.since = at(0s)});
    scene.add("odd", {50, {9'999, 1s}});
    scene.add("many", {2'000, per_day(9)}, {.since = at(1s)});  // number 3, after number 1
  }
  std::size_t slots() const { return scene.memory.size.lines * RealSteps::kSlotsInLine; }

  // A slot as nothing ever wrote it: any bits, or bits that are nearly right.
  Slot any_slot() {
    if (dice.one_in(4)) return {dice.uniform(0, ~0ULL), dice.uniform(0, ~0ULL)};
    const Key key = key_number(dice.uniform(0, kKeys));
    const auto shape = static_cast<ShapeNumber>(dice.any_size(0, Shapes::kMost - 1));
    const Ref ref{.descriptor = dice.any_size(0, kMostDescriptors - 1),
                  .seq = dice.any_size(0, kFingerprints),
                  .entry = dice.uniform(0, 15)};
    return {id_of(fingerprint_of(key), shape, static_cast<Kind>(dice.uniform(0, 3))),
            dice.one_in(2) ? word_of(ref) : dice.any_size(0, ~0ULL)};
  }
  void damage_lines() {
    for (std::size_t i = 0; i < slots(); ++i) {
      if (dice.one_in(2)) scene.memory.lines[i] = any_slot();
    }
  }
  void damage_own_places() {
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (dice.one_in(2)) scene.memory.own[i] = {any_slot(), any_slot()};
    }
  }

  Charge any_charge() {
    return {.key = key_number(dice.uniform(0, kKeys - 1)),
            .amount = dice.any_size(0, 10),
            .max_wait = dice.one_in(2) ? 0s : 10s,
            .shape = static_cast<ShapeNumber>(dice.uniform(0, 3)),
            .op = static_cast<Op>(dice.uniform(0, 5)),
            .keyless = dice.one_in(5)};
  }
  // Every call comes back, with answers that make sense.
  void use(std::uint64_t calls) {
    for (std::uint64_t call = 0; call < calls; ++call) {
      std::array<Charge, kMostCharges> charges;
      const std::size_t size = dice.one_in(2) ? 1 : dice.uniform(2, kMostCharges);
      for (std::size_t i = 0; i < size; ++i) charges[i] = any_charge();
      std::array<Decision, kMostCharges> decisions;
      const Instant now = at(std::chrono::seconds(dice.any_size(0, 100'000)));
      const bool taken = scene.table.take({charges.data(), size}, {decisions.data(), size}, now);
      bool all = true;
      for (std::size_t i = 0; i < size; ++i) {
        all = all && decisions[i].allowed();
        ASSERT_LE(decisions[i].remaining(), decisions[i].capacity());
        decisions[i].retry_after();
        decisions[i].reset_after();
      }
      ASSERT_EQ(taken, all);
    }
  }
  // A key that is somewhere whole is limited as ever.
  void expect_a_table() {
    Scene other;
    for (std::size_t i = 0; i < slots(); ++i) scene.memory.lines[i] = Slot{};
    const Charge charge{.key = kA, .amount = 5, .shape = 0};
    EXPECT_TRUE(take_one(scene.table, charge, at(24h)).allowed());
    EXPECT_TRUE(take_one(scene.table, charge, at(24h)).limited());
    const std::array pair{Charge{.key = kB, .amount = 3, .shape = 0},
                          Charge{.key = kC, .amount = 3, .shape = 0}};
    EXPECT_TRUE(take_all(scene.table, pair, at(24h)));
    EXPECT_FALSE(take_all(scene.table, pair, at(24h)));
  }

  Scene scene{{.keys = 1, .shapes = 4, .descriptors = 4, .shared = true}};
  Dice dice{800};
  const std::uint64_t rounds = 3'000 * stretch() / kSanitized;
};

TEST_F(Damaged, SlotsOfKeysAreHarmless) {
  for (std::uint64_t round = 0; round < rounds; ++round) {
    damage_lines();
    use(10);
    if (HasFailure()) return;
  }
  expect_a_table();
}

TEST_F(Damaged, PlacesOfLimitsAreHarmless) {
  for (std::uint64_t round = 0; round < rounds; ++round) {
    damage_own_places();
    damage_lines();
    use(10);
    if (HasFailure()) return;
  }
}

// What a decision wrote down, while nobody decides: a slot may name it, and reads nonsense.
TEST_F(Damaged, EntriesOfDescriptorsAreHarmless) {
  for (std::uint64_t round = 0; round < rounds; ++round) {
    Descriptor& descriptor = scene.memory.descriptors[dice.uniform(0, 3)];
    for (Entry& entry : descriptor.entries) {
      if (dice.one_in(2)) entry = {dice.uniform(0, ~0ULL), any_slot(), any_slot()};
    }
    const std::uint64_t number = dice.uniform(0, 3);
    const std::uint64_t seq = seq_of(scene.memory.descriptors[number].status);
    damage_lines();
    for (std::size_t i = 0; i < slots(); i += 3) {
      const Key key = key_number(dice.uniform(0, kKeys - 1));
      scene.memory.lines[i] = {id_of(fingerprint_of(key), 0, Kind::claimed),
                               word_of({number, seq + dice.uniform(0, 1), dice.uniform(0, 15)})};
    }
    use(10);
    if (HasFailure()) return;
  }
}

// A status of any bits, as after a loss of power in the middle of a decision.
TEST_F(Damaged, StatesOfDescriptorsAreHarmless) {
  for (std::uint64_t round = 0; round < rounds; ++round) {
    Descriptor& descriptor = scene.memory.descriptors[dice.uniform(0, 3)];
    descriptor.status = dice.any_size(0, ~0ULL);
    descriptor.count = dice.any_size(0, ~0ULL);
    const std::uint64_t seq = seq_of(descriptor.status);
    const auto number = static_cast<std::uint64_t>(&descriptor - scene.memory.descriptors);
    damage_lines();
    for (std::size_t i = 0; i < slots(); i += 3) {
      const Key key = key_number(dice.uniform(0, kKeys - 1));
      scene.memory.lines[i] = {id_of(fingerprint_of(key), 0, Kind::claimed),
                               word_of({number, seq, dice.uniform(0, 15)})};
    }
    use(10);
    if (HasFailure()) return;
  }
}

// What somebody who is gone had written down, when that is nonsense: whoever comes next puts his
// decision in order, and that too stays within the table.
TEST_F(Damaged, WhatAHolderWhoIsGoneWroteDownIsHarmless) {
  constexpr std::uint64_t kGone =
      std::uint64_t{0x7ffffff0} << 32 | 1;  // no process has that number
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::uint32_t i = 0; i < scene.memory.size.descriptors; ++i) {
      Descriptor& descriptor = scene.memory.descriptors[i];
      descriptor.holder = kGone;
      descriptor.status = dice.any_size(0, ~0ULL);
      descriptor.count = dice.any_size(0, ~0ULL);
      for (Entry& entry : descriptor.entries) {
        entry = {dice.any_size(0, ~0ULL), any_slot(), any_slot()};
      }
    }
    use(10);
    if (HasFailure()) return;
  }
  expect_a_table();
}

}  // namespace
}  // namespace suimon::table
