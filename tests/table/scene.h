// A table with limits, for the tests of this room. The limits are adopted by the table itself, and
// BasicTable over any steps and cures may be laid over the same memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "suimon/base/siphash.h"
#include "suimon/table/table.h"
#include "tests/timeline.h"

namespace suimon::test {

// Keys as a hash makes them: every bit varies.
inline Key key_number(std::uint64_t n, SipKey secret = {1, 2}) {
  const Hash128 hash = siphash128<1, 3>(secret, {reinterpret_cast<const char*>(&n), sizeof n});
  return {hash.high, hash.low};
}

inline const Key kA = key_number(1'000'000'001);
inline const Key kB = key_number(1'000'000'002);
inline const Key kC = key_number(1'000'000'003);

struct AboutLimit {
  std::uint64_t largest_cost = 1;  // its capacity: whoever owes anything is limited, never evicted
  Instant since = Instant::min();
  std::string_view tier = "";
};

struct Scene {
  // Twelve slots: all keys share the same three lines.
  static constexpr table::Table::Options kTiny{.keys = 1, .shapes = 8, .descriptors = 8};

  explicit Scene(const table::Table::Options& options = kTiny)
      : table(made(options)),
        memory(table::Memory::at(
            const_cast<std::byte*>(table.bytes().data()),
            table::Size::for_keys(options.keys, options.shapes, options.descriptors))) {}

  // Another limit, or other parameters of one that is there.
  ShapeNumber add(std::string_view name, const Limit& limit, const AboutLimit& about = {}) {
    const auto assigned = shapes.assign(name, about.tier, Algorithm::token_bucket, limit,
                                        about.since, about.largest_cost);
    if (!assigned) throw std::invalid_argument(assigned.error().text);
    if (auto adopted = table.adopt({&*assigned, 1}); !adopted) {
      throw std::invalid_argument(adopted.error().text);
    }
    return (*assigned)->number;
  }

  // The same table, over other steps or without some of the cures.
  template <class Steps, table::Cures kCures = table::Cures{}>
  table::BasicTable<Steps, kCures> over() const {
    return table::BasicTable<Steps, kCures>(memory);
  }
  template <table::Cures kCures>
  table::BasicTable<table::RealSteps, kCures> with() const {
    return table::BasicTable<table::RealSteps, kCures>(memory);
  }

  // Where a key's state is; null: nowhere.
  table::Slot* slot_of(const Key& key) const {
    const std::size_t slots = memory.size.lines * table::RealSteps::kSlotsInLine;
    for (table::Slot* slot = memory.lines; slot != memory.lines + slots; ++slot) {
      const bool empty = table::kind_of(slot->id) == table::Kind::empty;
      if (!empty && table::fingerprint_of(slot->id) == table::fingerprint_of(key)) return slot;
    }
    return nullptr;
  }

  // How many slots are not empty: what Figures::entries must say when nobody is at work.
  std::uint64_t places_taken() const {
    const std::size_t slots = memory.size.lines * table::RealSteps::kSlotsInLine;
    return static_cast<std::uint64_t>(std::count_if(
        memory.lines, memory.lines + slots,
        [](const table::Slot& slot) { return table::kind_of(slot.id) != table::Kind::empty; }));
  }

  std::vector<std::byte> copy() const { return {table.bytes().begin(), table.bytes().end()}; }

  Shapes shapes;
  table::Table table;
  table::Memory memory;

 private:
  static table::Table made(const table::Table::Options& options) {
    auto table = table::Table::make(options);
    if (!table) throw std::runtime_error(table.error().text);
    return std::move(*table);
  }
};

// One charge, by any table.
template <class Any>
Decision take_one(Any& table, const Charge& charge, Instant now) {
  Decision decision;
  const bool taken = table.take({&charge, 1}, {&decision, 1}, now);
  EXPECT_EQ(taken, decision.allowed());
  return decision;
}

// The charges of one request, all or none.
template <class Any, std::size_t kCount>
bool take_all(Any& table, const std::array<Charge, kCount>& charges, Instant now) {
  std::array<Decision, kCount> decisions;
  return table.take(charges, decisions, now);
}

// How many whole tokens a charge's state owes, rounded up.
template <class Any>
std::uint64_t owed(Any& table, Charge charge, Instant now) {
  charge.op = Op::peek;
  charge.amount = 0;
  const Decision look = take_one(table, charge, now);
  return look.capacity() - look.remaining();
}

}  // namespace suimon::test
