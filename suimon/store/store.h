// Where state lives. One interface for memory and for every remote store: there is no second,
// asynchronous one, because `done` may run before take() returns or later.
//
// Contract (tests/store/store_contract_test.cc runs it over THE LIST in store/stores.h):
//   - The charges of a group are spent all or none. A group of which one charge is refused
//     leaves nothing behind, and each of its charges still hears its own decision.
//   - Groups are independent of each other and are decided in order.
//   - A refusal is a Decision. A group that the store could not decide says so (Group::failed);
//   when
//     that is all of them, `done` hears an Error that says why. It may have been charged then, if
//     the answer was lost; nobody asks a second time.
//   - `done` runs exactly once per take().
//   - A charge for a key that was never seen, or whose state is full again, meets a full bucket.
//   - State of an older shape is converted to the newest of its limit before it is used.
//   - Where it carries states over, a charge with two keys (Rekey) finds its client's one state
//     under whichever of them it lies; `move` brings it to `key` before it changes. Charges of one
//     step and the next may come at the same time.
//   - Memory is bounded; what happens at the bound is said by each store and counted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "suimon/core/charge.h"
#include "suimon/core/shapes.h"
#include "suimon/result.h"

namespace suimon::net {
class Loop;
}

namespace suimon {

// The charges of one request, at most kMostCharges. The caller owns both arrays (of equal length)
// and keeps them until `done` has run; the store fills in the decisions.
struct Group {
  std::span<const Charge> charges;
  std::span<Decision> decisions;
  bool taken = false;   // every charge was admitted (and spent, unless it only looked)
  bool failed = false;  // the store could not decide this group: nothing else means anything
};

// What runs when all groups of a take() have been decided: a function and its context, because a
// closure would allocate on the way of every decision.
struct Done {
  void (*run)(void* context, const Result<void>& result) = nullptr;
  void* context = nullptr;
};

// Figures of a store, for metrics: counters and gauges that are read, never scanned.
struct StoreFigures {
  std::uint64_t entries = 0;    // keys that have state now
  std::uint64_t bytes = 0;      // memory of the whole table
  std::uint64_t evictions = 0;  // live states that had to go
  std::uint64_t overflows = 0;  // charges that went to a limit's overflow bucket
};

// What passed between this process and a remote store. Counters but for the last.
struct RemoteFigures {
  // Upper bounds of the buckets in nanoseconds; the last bucket has none.
  static constexpr std::array<std::int64_t, 12> kBounds = {
      50'000,    100'000,    250'000,    500'000,    1'000'000,   2'500'000,
      5'000'000, 10'000'000, 25'000'000, 50'000'000, 100'000'000, 1'000'000'000};
  struct Event {
    std::string_view name;  // a label of metrics
    std::uint64_t count = 0;
  };

  std::array<std::uint64_t, kBounds.size() + 1> round_trips{};
  std::uint64_t round_trips_ns = 0;
  std::uint64_t errors = 0;       // groups of charges that were not decided, for whatever reason
  std::vector<Event> events;      // the same in more detail, and connections
  std::uint64_t unavailable = 0;  // servers that are not asked now, because they failed
};

class Store {
 public:
  virtual ~Store() = default;

  virtual std::string_view name() const = 0;

  // Makes shapes known, at load and never per decision. Must run before charges of a shape come.
  virtual Result<void> adopt(std::span<const Shape* const> shapes) = 0;

  // Decides the groups as of `now` (a store with a clock of its own uses that). Any thread.
  virtual void take(std::span<Group> groups, Instant now, Done done) = 0;

  virtual StoreFigures figures() const = 0;

  // Whether charges with two keys are understood. Without, only `key` counts.
  virtual bool carries_over() const { return false; }

  // Nothing for a store in memory.
  virtual std::optional<RemoteFigures> remote_figures() const { return std::nullopt; }

  // The store as one event loop uses it, on its thread: a remote one has connections of its own
  // there. What it returns lives until leave(); a store in memory is itself. Before the loop runs.
  virtual Store& on(net::Loop& loop) {
    (void)loop;
    return *this;
  }
  // The loop, which has stopped, is about to end, and what on() returned with it: whoever still
  // waits is told of a failure.
  virtual void leave(net::Loop& loop) { (void)loop; }
  // What decides in this process while this store cannot; null where that never happens. It knows
  // all shapes that were adopted and answers inline.
  virtual Store* fallback() { return nullptr; }

  // Rewrites every state of a shape that another has replaced in the newest one, as the next charge
  // would read it; decisions may go on meanwhile. True when no state of a replaced shape is left.
  // Requires that no charge of a replaced shape is being decided or still comes. For the thread
  // that adopts. O(states).
  virtual bool convert_replaced() { return false; }
  // The numbers of these shapes, all of which were replaced and converted, may be adopted with
  // other parameters from now on. Requires that every take() that was under way during
  // convert_replaced() has returned. For the thread that adopts.
  virtual void forget(std::span<const Shape* const> shapes) { (void)shapes; }
};

}  // namespace suimon
