// A scenario: a table of three slots, who lives there, and what a few threads ask of it.
//
// Thread rule: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "suimon/core/charge.h"
#include "suimon/table/layout.h"
#include "tests/model/behaviour.h"
#include "tests/model/cells.h"
#include "tests/model/explorer.h"
#include "tests/timeline.h"

namespace suimon::model {

using test::at;
using namespace std::chrono_literals;

// A client, called by one letter. All three slots are its candidates: which it prefers.
constexpr Key client(char name, unsigned first = 0, unsigned second = 1) {
  constexpr std::uint64_t kThird = ~std::uint64_t{0} / 3;
  const unsigned distance = (second + 3 - first) % 3;  // 1 or 2
  return {static_cast<std::uint64_t>(name) << 16,
          ((first * kThird + kThird / 2) & ~std::uint64_t{0xffff}) + (distance - 1) * 0x8000};
}

// A limit: one token per `token`.
struct Bucket {
  std::uint64_t capacity = 1;
  Duration token = 10ns;
  std::uint64_t largest_cost = 1;
};

struct Resident {
  unsigned slot = 0;
  Key key{};
  Duration full_at{0};  // when it will be full again
  ShapeNumber shape = 0;
};

struct Call {
  Instant now{};
  std::vector<Charge> charges{};
};

struct Actor {
  std::vector<Call> calls{};
  bool killable = false;
  bool last = false;
};

struct Scenario {
  std::vector<Bucket> limits{{}};
  std::vector<Resident> residents{};
  Instant horizon = Instant::min();
  std::vector<Actor> actors{};
  // Keys that are one client's: the older one and the newer one.
  std::vector<std::pair<Key, Key>> one_client{};
  // How many descriptors there are, which any thread may take. 0: each thread has its own.
  unsigned shared_descriptors = 0;
  // What a decision writes down is written, and read by others, word by word. Without, in one step:
  // whoever reads it looks at the decision's number afterwards, and what he has read counts only if
  // it was complete then. That this is so is shown by a scenario that is fine.
  bool fine = false;
};

inline Charge charge(const Key& key, std::uint64_t amount = 1, ShapeNumber shape = 0) {
  return {.key = key, .amount = amount, .shape = shape};
}
inline Charge keyless(std::uint64_t amount = 1, ShapeNumber shape = 0) {
  return {.key = client('_'), .amount = amount, .shape = shape, .keyless = true};
}
// A client with two keys, as a thread brings him that makes him known by the first and goes on with
// his state where it is, and as one that brings it over.
inline Charge accepting(Charge charge, const Key& newer) {
  charge.rekey = Rekey::accept;
  charge.other = newer;
  return charge;
}
inline Charge moving(Charge charge, const Key& older) {
  charge.rekey = Rekey::move;
  charge.other = older;
  return charge;
}
inline Charge look(Charge charge) {
  charge.op = Op::peek;
  return charge;
}
inline Actor takes(Duration now, std::initializer_list<Charge> charges) {
  return {.calls = {{at(now), charges}}};
}
inline Actor killable(Actor actor) {
  actor.killable = true;
  return actor;
}
inline Actor last(Actor actor) {
  actor.last = true;
  return actor;
}

// The table's memory for a scenario, as it is at the start.
class World {
 public:
  explicit World(const Scenario& scenario);

  const table::Memory& memory() const { return memory_; }
  Cells& cells() { return cells_; }
  const Cells& cells() const { return cells_; }
  table::Slot& slot(unsigned i) const { return memory_.lines[i]; }
  Cast cast(const Scenario& scenario) const;

 private:
  struct alignas(table::kPage) Page {
    std::byte bytes[table::kPage];
  };

  std::vector<Page> pages_;
  table::Memory memory_;
  Cells cells_;
};

}  // namespace suimon::model
