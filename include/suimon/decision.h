// The answer to one charge against one limit.
//
// "Later" and "never" differ: a limited request may be repeated after retry_after(); one that
// costs more than the capacity is never() and has no such instant.
// The figures (remaining, waits) are computed when asked for, so a decision that nobody looks
// into costs no division.
// Thread rule: a plain value. Complexity: every call O(1).
#pragma once

#include <cstdint>
#include <optional>

#include "suimon/detail/scale.h"
#include "suimon/time.h"

namespace suimon {

enum class Outcome : std::uint8_t {
  allowed,  // the tokens were there (and, unless the charge only looked, they were taken)
  limited,  // too few tokens now; they will be there after retry_after()
  never,    // the cost exceeds the capacity: waiting does not help
};

class Decision {
 public:
  Decision() = default;
  // Built by algorithms: `debt` is what the bucket lacks to be full, in units of `scale`, after
  // the decision; `granted` is how many tokens were taken.
  Decision(Outcome outcome, const detail::Scale& scale, Instant now, detail::uint128 debt,
           std::uint64_t cost, std::uint64_t granted)
      : scale_(scale), debt_(debt), now_(now), cost_(cost), granted_(granted), outcome_(outcome) {}

  Outcome outcome() const { return outcome_; }
  bool allowed() const { return outcome_ == Outcome::allowed; }
  bool limited() const { return outcome_ == Outcome::limited; }
  bool never() const { return outcome_ == Outcome::never; }

  // The tokens that the caller asked for, and those that were taken.
  std::uint64_t cost() const { return cost_; }
  std::uint64_t granted() const { return granted_; }
  // The limit's capacity in tokens.
  std::uint64_t capacity() const { return scale_.capacity; }
  // The instant for which the decision was made.
  Instant at() const { return now_; }

  // Whole tokens left after this decision, rounded down; never below 0. (Where the limit counts
  // in class V, a token that is complete up to the resolution of the state counts as whole.)
  std::uint64_t remaining() const;

  // How long to wait until the same cost would be admitted at once if nobody else comes: present
  // exactly when limited(). Tight: one nanosecond earlier the tokens are not there.
  std::optional<Duration> retry_after() const;

  // For a reservation: how long the caller must wait before it goes on; for a forced charge: how
  // long until what it took has flowed in. 0 for everything else.
  Duration wait() const;

  // How long until the bucket is full again if nobody comes; 0 when it is full.
  Duration reset_after() const;

  // How long until one more whole token is there; nothing when the bucket is full.
  std::optional<Duration> next_token_after() const;

 private:
  detail::Scale scale_;
  detail::uint128 debt_ = 0;
  Instant now_;
  std::uint64_t cost_ = 0;
  std::uint64_t granted_ = 0;
  Outcome outcome_ = Outcome::allowed;
};

}  // namespace suimon
