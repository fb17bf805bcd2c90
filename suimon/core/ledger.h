// The state of one bucket in a store that is not bound to one word, and one step of it.
//
// Every algorithm tells its whole state as an instant and a count; a default Ledger is the
// untouched state, which equals having no entry at all.
#pragma once

#include "suimon/decision.h"
#include "suimon/time.h"

namespace suimon {

struct Ledger {
  Instant at = Instant::min();  // the latest instant that the state has seen
  detail::uint128 amount = 0;   // what is owed at that instant, in the algorithm's own units
};

struct Step {
  bool writes;   // the ledger after the step differs and must be kept
  Ledger after;  // meaningful only when it writes
  Decision decision;
};

}  // namespace suimon
