// The answer to one request, over all limits that apply to it.
//
// Thread rule: belongs to the engine of one thread; views stay valid while the answer runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "suimon/core/charge.h"
#include "suimon/policy/ruleset.h"

namespace suimon {

struct Verdict {
  enum class Status : std::uint8_t {
    decided,
    unknown_domain,   // no such domain is loaded
    bad_path,         // a limit looks at the path, and it cannot be decoded
    too_many_limits,  // more limits apply than one request may be charged to
    store_failed,     // the store did not answer
  };

  Status status = Status::decided;
  Outcome outcome = Outcome::allowed;  // allowed exactly when every limit admitted the request
  const Ruleset* ruleset = nullptr;
  std::span<const Applied> applied;     // the limits, those that were charged first
  std::span<const Decision> decisions;  // of the first decisions.size() of `applied`
  std::span<const Charge> charges;      // what those were charged, under which keys

  bool allowed() const { return status == Status::decided && outcome == Outcome::allowed; }

  // Whether limit i refused. One that is missing an attribute refuses for good.
  Outcome outcome_of(std::size_t i) const {
    return i < decisions.size() ? decisions[i].outcome() : Outcome::never;
  }
};

}  // namespace suimon
