// What a bucket's state is: a Ledger where there is room for it, a Word where 64 bits must do. And
// one step of either.
//
// Every algorithm tells its whole state in both forms. A default state is the untouched one, which
// equals having no entry at all.
#pragma once

#include <cstdint>

#include "suimon/decision.h"
#include "suimon/time.h"

namespace suimon {

// Exact at every rate: what is owed at an instant, in the algorithm's own units.
struct Ledger {
  Instant at = Instant::min();  // the latest instant that the state has seen
  detail::uint128 amount = 0;
};

// One 64-bit word, whose meaning is the algorithm's own. 0 is the untouched state.
struct Word {
  std::uint64_t bits = 0;
  friend constexpr bool operator==(Word, Word) = default;
};

template <class State>
struct Step {
  bool writes;  // the state after the step differs and must be kept
  State after;  // meaningful only when it writes
  Decision decision;
};

}  // namespace suimon
