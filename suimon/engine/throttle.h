// Decides calls that bring their parameters with them (throttle_sets.h), for one event loop.
//
// What sets are called is remembered here, so a call whose set was seen before takes no lock and
// allocates nothing. Calls that arrived together are decided together, as of one reading of the
// clock: Store::take() decides its groups in order.
// Thread rule: one Throttle per event loop, used by that thread alone.
#pragma once

#include <span>
#include <vector>

#include "suimon/base/clock.h"
#include "suimon/engine/throttle_sets.h"
#include "suimon/store/store.h"

namespace suimon {

class Throttle {
 public:
  Throttle(ThrottleSets& sets, Store& store, const Clock& clock)
      : sets_(sets), store_(store), clock_(clock) {}

  // A new wake-up of the loop.
  void wake(Instant now) {
    now_ = now;
    renewed_ = false;
  }

  // The number of a set, for the charges of this wake-up. Errors as ThrottleSets::number_of().
  Result<ShapeNumber> number_of(const ThrottleSet& set);

  // The identity of a client's key.
  Key key_of(ThrottleDialect dialect, std::string_view key) const {
    return suimon::key_of(sets_.hash_key(dialect), key);
  }

  // Decides the groups in order, as of a reading of the clock that no earlier call of this wake-up
  // has used up: nobody is refused for the time that the loop spent on others before.
  void take(std::span<Group> groups, Done done);

  // For charges whose store answers later: from the return of take() to its answer.
  std::uint64_t pending() { return sets_.pending(); }
  void answered(std::uint64_t generation) { sets_.answered(generation); }

 private:
  // What is remembered of one set. Number kNone: nothing.
  struct Remembered {
    ThrottleSet set;
    std::uint32_t number = kNone;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::size_t kPlaces = 2 * ThrottleSets::kMost;  // so that few meet

  Remembered& place_of(const ThrottleSet& set);

  ThrottleSets& sets_;
  Store& store_;
  const Clock& clock_;
  Instant now_;
  bool renewed_ = false;
  std::uint64_t generation_ = 0;
  std::vector<Remembered> remembered_;  // no memory before the first call
};

}  // namespace suimon
