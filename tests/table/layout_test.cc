// The region: offsets only, and three different lines of one page for every key at every size.

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "tests/table/scene.h"

namespace suimon::table {
namespace {

using namespace test;

std::uint64_t line_number(const Memory& memory, const Slot* line) {
  const auto slots = static_cast<std::uint64_t>(line - memory.lines);
  EXPECT_EQ(slots % RealSteps::kSlotsInLine, 0u);
  return slots / RealSteps::kSlotsInLine;
}

TEST(Layout, CandidatesAreThreeLinesOfOnePageAtEverySize) {
  Dice dice(700);
  for (int round = 0; round < 2'000; ++round) {
    const std::uint64_t keys =
        round < 600 ? static_cast<std::uint64_t>(round) : dice.any_size(1, std::uint64_t{1} << 40);
    const Size size = Size::for_keys(keys, 1, 1);
    ASSERT_GE(size.lines * RealSteps::kSlotsInLine, keys + keys * 97 / 200);
    ASSERT_EQ(size.lines % size.lines_in_page, 0u) << keys;
    // Nothing is touched, so no memory is needed.
    alignas(kPage) static std::byte base[kPage];
    const Memory memory = Memory::at(base, size);
    for (int i = 0; i < 50; ++i) {
      const bool edge = dice.one_in(10);
      const Key key{.high = edge ? ~0ULL : dice.uniform(0, ~0ULL),
                    .low = edge ? (dice.one_in(2) ? 0 : ~0ULL) : dice.uniform(0, ~0ULL)};
      const Candidates candidates(memory, RealSteps::kSlotsInLine, key);
      std::set<std::uint64_t> lines;
      std::set<std::uint64_t> pages;
      for (const Slot* line : candidates.lines) {
        const std::uint64_t number = line_number(memory, line);
        ASSERT_LT(number, size.lines) << keys;
        lines.insert(number);
        pages.insert(number / size.lines_in_page);
      }
      ASSERT_EQ(lines.size(), kLinesOfKey) << keys;
      ASSERT_EQ(pages.size(), 1u) << keys;
      const Front front(memory, RealSteps::kSlotsInLine, key.low);
      ASSERT_EQ(front.first, candidates.lines[0]);
      ASSERT_EQ(front.second, candidates.lines[1]);
    }
  }
}

// Where pages of lines begin at pages of memory, three candidates cost one entry of the TLB.
TEST(Layout, LinesBeginAtAPageAndNoPartsOverlap) {
  for (const std::uint64_t keys : {1u, 100u, 10'000u}) {
    for (const std::uint32_t shapes : {1u, 3u, 16'384u}) {
      Scene scene({.keys = keys, .shapes = shapes, .descriptors = 7});
      const auto offset = [&](const auto* part) {
        return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(part) -
                                        scene.table.bytes().data());
      };
      const Memory& memory = scene.memory;
      EXPECT_EQ(offset(memory.header), 0u);
      EXPECT_GE(offset(memory.shards), sizeof(Header));
      EXPECT_GE(offset(memory.shapes), offset(memory.shards + kShards));
      EXPECT_GE(offset(memory.own), offset(memory.shapes + shapes));
      EXPECT_GE(offset(memory.descriptors), offset(memory.own + shapes));
      EXPECT_GE(offset(memory.lines), offset(memory.descriptors + 7));
      EXPECT_EQ(offset(memory.lines) % kPage, 0u);
      EXPECT_EQ(offset(memory.own) % alignof(OwnPlaces), 0u);
      EXPECT_EQ(offset(memory.descriptors) % alignof(Descriptor), 0u);
      EXPECT_LE(offset(memory.lines + memory.size.lines * RealSteps::kSlotsInLine),
                scene.table.bytes().size());
    }
  }
}

// Keys take all parts of the table, first lines and others, evenly enough.
TEST(Layout, KeysSpreadOverAllLines) {
  Scene scene({.keys = 10'000, .shapes = 1, .descriptors = 1});
  std::vector<unsigned> hits(scene.memory.size.lines);
  for (std::uint64_t i = 0; i < 100 * hits.size(); ++i) {
    const Candidates key(scene.memory, RealSteps::kSlotsInLine, key_number(i));
    for (const Slot* line : key.lines) ++hits[line_number(scene.memory, line)];
  }
  // 300 each, within 17 or so.
  EXPECT_GT(*std::ranges::min_element(hits), 200u);
  EXPECT_LT(*std::ranges::max_element(hits), 400u);
}

// What a table knows lies in its bytes, wherever they lie: debts, shapes, a decision under way.
TEST(Layout, ACopyOfTheBytesElsewhereGoesOnAsBefore) {
  Scene scene({.keys = 1'000, .shapes = 4, .descriptors = 4, .shared = true});
  const ShapeNumber old = scene.add("limit", {100, per_second(1)}, {.since = at(0s)});
  const ShapeNumber wide = scene.add("wide", {1'000, per_day(1)});
  const auto key = [](std::uint64_t i) { return key_number(i % 700); };
  for (std::uint64_t i = 0; i < 3'000; ++i) {
    take_one(scene.table, {.key = key(i), .amount = i % 7, .shape = i % 2 == 0 ? old : wide},
             at(1s));
  }
  take_one(scene.table, {.key = kA, .amount = 9, .shape = wide, .keyless = true}, at(1s));
  const ShapeNumber now = scene.add("limit", {50, per_second(2)}, {.since = at(2s)});

  auto elsewhere = Region::make(scene.table.bytes().size(), false);
  ASSERT_TRUE(elsewhere);
  ASSERT_NE(elsewhere->data(), scene.table.bytes().data());
  std::memcpy(elsewhere->data(), scene.table.bytes().data(), scene.table.bytes().size());
  BasicTable<RealSteps> copy(Memory::at(elsewhere->data(), scene.memory.size));
  for (std::uint64_t i = 0; i < 5'000; ++i) {
    const Instant when = at(3s + i * 1ms);
    std::array charges{Charge{.key = key(i), .amount = i % 11, .shape = i % 3 == 0 ? old : now},
                       Charge{.key = key(3 * i + 1), .amount = 2, .shape = wide},
                       Charge{.key = kA, .shape = wide, .keyless = true}};
    const std::size_t size = 1 + i % 3;
    std::array<Decision, 3> here, there;
    const std::span asked(charges.data(), size);
    ASSERT_EQ(scene.table.take(asked, {here.data(), size}, when),
              copy.take(asked, {there.data(), size}, when));
    for (std::size_t c = 0; c < size; ++c) {
      ASSERT_EQ(here[c].outcome(), there[c].outcome());
      ASSERT_EQ(here[c].remaining(), there[c].remaining());
      ASSERT_EQ(here[c].retry_after(), there[c].retry_after());
    }
  }
  EXPECT_TRUE(std::ranges::equal(scene.table.bytes(), elsewhere->bytes()));
}

TEST(Layout, TheSmallestTableServesItsKey) {
  for (const std::uint64_t keys : {0u, 1u, 2u, 8u}) {
    Scene scene({.keys = keys, .shapes = 1, .descriptors = 1});
    scene.add("limit", {2, per_day(1)});
    EXPECT_GE(scene.memory.size.lines, kLinesOfKey);
    for (std::uint64_t i = 0; i < std::max<std::uint64_t>(1, keys); ++i) {
      const Charge charge{.key = key_number(i), .amount = 2, .shape = 0};
      EXPECT_TRUE(take_one(scene.table, charge, at(0s)).allowed());
      EXPECT_TRUE(take_one(scene.table, charge, at(0s)).limited());
    }
    EXPECT_EQ(scene.table.figures().overflows, 0u);
  }
}

// Of a key's hash the table keeps 48 bits beside its place. Two keys that it takes for one share a
// state, also in one group, where two claims on one state would never both succeed.
TEST(Layout, TwoKeysThatTheTableTakesForOneShareAState) {
  for (const bool known : {false, true}) {
    Scene scene;
    const ShapeNumber shape = scene.add("limit", {5, per_day(1)});
    const Charge one{.key = kA, .amount = 2, .shape = shape};
    const Charge other{.key = {.high = kA.high ^ 1, .low = kA.low}, .amount = 2, .shape = shape};
    if (known) take_one(scene.table, {.key = kA, .shape = shape}, at(0s));
    EXPECT_TRUE(take_all(scene.table, std::array{one, other}, at(0s)));
    EXPECT_EQ(owed(scene.table, other, at(0s)), known ? 5u : 4u);
    EXPECT_FALSE(take_all(scene.table, std::array{one, other}, at(0s)));
  }
}

// One word tells all: of the 48, 14 and 2 bits of a slot none touches another, and a ref none.
TEST(Layout, WhatIsPutIntoASlotComesOut) {
  Dice dice(701);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t fingerprint = dice.uniform(0, kFingerprints);
    const auto shape = static_cast<ShapeNumber>(dice.uniform(0, Shapes::kMost - 1));
    const auto kind = static_cast<Kind>(dice.uniform(0, 3));
    const std::uint64_t id = id_of(fingerprint, shape, kind);
    ASSERT_EQ(fingerprint_of(id), fingerprint);
    ASSERT_EQ(shape_of(id), shape);
    ASSERT_EQ(kind_of(id), kind);
    ASSERT_EQ(with_kind(id, Kind::claimed), id_of(fingerprint, shape, Kind::claimed));

    const Ref ref{.descriptor = dice.uniform(0, kMostDescriptors - 1),
                  .seq = dice.uniform(0, kFingerprints),
                  .entry = dice.uniform(0, kMostCharges - 1)};
    const Ref read = ref_of(word_of(ref));
    ASSERT_EQ(read.descriptor, ref.descriptor);
    ASSERT_EQ(read.seq, ref.seq);
    ASSERT_EQ(read.entry, ref.entry);
    const auto state = static_cast<State>(dice.uniform(0, 3));
    ASSERT_EQ(seq_of(status_of(ref.seq, state)), ref.seq);
    ASSERT_EQ(state_of(status_of(ref.seq, state)), state);
  }
}

}  // namespace
}  // namespace suimon::table
