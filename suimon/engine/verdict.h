// The answer to one request, over all limits that apply to it: those that are enforced, and those
// that only say what they would do (shadows).
//
// Thread rule: belongs to the engine of one thread; views stay valid while the answer runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "suimon/core/charge.h"
#include "suimon/policy/request.h"
#include "suimon/policy/ruleset.h"

namespace suimon {

// Some of the limits that apply to a request: a bit for each.
using LimitSet = std::uint32_t;
inline constexpr LimitSet kAllLimits = ~LimitSet{0};
static_assert(kMostCharges <= 32);

// Limits, and what they decided.
struct Judged {
  std::span<const Applied> applied;     // those that were charged first
  std::span<const Decision> decisions;  // of the first decisions.size() of `applied`
  std::span<const Charge> charges;      // what those were charged, under which keys

  // What limit i said. One that is missing an attribute refuses for good.
  Outcome outcome_of(std::size_t i) const {
    return i < decisions.size() ? decisions[i].outcome() : Outcome::never;
  }
};

// `applied` and its companions are the limits that are enforced.
struct Verdict : Judged {
  enum class Status : std::uint8_t {
    decided,
    unknown_domain,   // no such domain is loaded
    bad_path,         // a limit looks at the path, and it cannot be decoded
    too_many_limits,  // more limits apply than one request may be charged to
    store_failed,     // the store did not answer
  };

  Status status = Status::decided;
  Outcome outcome = Outcome::allowed;  // allowed exactly when every limit admitted the request
  Instant at;                          // of the decision
  // Those that were decided, by Applied::request: one, or several together. Only for observers that
  // hear requests, else empty.
  std::span<const Request> requests;
  const Ruleset* ruleset = nullptr;
  // How many limits let it pass unasked, and how many decided in this process, because the store
  // failed (LimitRule::on_store_error). The former are not among `applied`.
  std::uint8_t unasked = 0;
  std::uint8_t decided_locally = 0;
  // What the shadow limits say of a request that is allowed; each is charged by itself, when it
  // would allow it. Of one that is refused they are not asked.
  Judged shadows;
  // Of requests that were decided together: for each of them which of `applied` apply to it, a bit
  // for each, the lowest for the first. Empty for a request that was decided by itself.
  std::span<const LimitSet> parts;

  bool allowed() const { return status == Status::decided && outcome == Outcome::allowed; }
};

}  // namespace suimon
