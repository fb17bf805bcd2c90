// What there is to say about a verdict, as plain figures.
//
// Everything that is written to a caller (headers of every dialect, JSON, sentences) is made from
// Facts, so a figure is computed once, and a refusal can be written down again later from the
// token of reply/token.h without a policy or a store.
// Thread rule: a plain value; names, rules and answers point into the policy or the token.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "suimon/base/inline_vector.h"
#include "suimon/engine/verdict.h"

namespace suimon {

// What holds where no policy says otherwise.
// NOLINTNEXTLINE(cert-err58-cpp): nothing runs yet that could be told
inline const AnswerRule kDefaultAnswers;

struct LimitFacts {
  std::string_view name;
  const LimitRule* rule = nullptr;  // its titles and its deny status; null when it is not known
  Outcome outcome = Outcome::allowed;
  std::string_view missing;  // the attribute that the limit needs and the request lacks, or ""
  bool advertise = true;
  bool shadow = false;  // says what it would do, and refuses nobody
  std::uint64_t capacity = 0;
  std::uint64_t cost = 0;                    // tokens that the request asked of this limit
  std::uint64_t remaining = 0;               // whole tokens
  Duration window{0};                        // capacity / rate: from empty to full
  Duration reset_after{0};                   // until full
  std::optional<Duration> retry_after;       // limited only
  std::optional<Duration> next_token_after;  // nothing when full

  bool refused() const { return outcome != Outcome::allowed; }
};

struct Facts {
  std::string_view domain;
  const AnswerRule* answers = &kDefaultAnswers;  // how the policy wants answers to look
  Outcome outcome = Outcome::allowed;
  // Those that are enforced, and the shadow limits behind them.
  InlineVector<LimitFacts, kMostCharges> limits;
  std::size_t size = 0;  // how many of them are enforced

  // The limits that are enforced. Only these are told to callers, who have no use for the others.
  std::span<const LimitFacts> all() const { return {limits.data(), size}; }
  // The shadow limits, for whoever asked for a check.
  std::span<const LimitFacts> shadows() const { return all_and_shadows().subspan(size); }
  std::span<const LimitFacts> all_and_shadows() const { return {limits.data(), limits.size()}; }

  // The limit that refused (the one that refuses for good, else the longest wait); when nothing
  // refused, the one with the fewest requests of this cost left. Null when no limit applies.
  // `advertised_only` leaves the others out of the choice, and so does `among`.
  const LimitFacts* binding(bool advertised_only = false, LimitSet among = kAllLimits) const;

  // The wait that the caller is told: the longest of all. Only for a limited verdict.
  std::optional<Duration> retry_after() const;

  // The HTTP status of a refusal: that of the binding limit, else that of the policy.
  int deny_status() const;
};

// Requires a decided verdict. Computes the figures of every limit that applies.
Facts facts_of(const Verdict& verdict);

// For facts that were told by a token: finds what `policy` says of their domain and limits now.
// O(limits of the domain) for each limit.
void find_rules(const Policy& policy, Facts& facts);

// Whole units, rounded up: a caller who waits as told is not refused again.
constexpr std::int64_t ceil_to(Duration wait, Duration unit) {
  return wait.count() / unit.count() + (wait.count() % unit.count() > 0 ? 1 : 0);
}
constexpr std::int64_t ceil_seconds(Duration wait) {
  return ceil_to(wait, std::chrono::seconds(1));
}

// What Retry-After says: at least 1 second.
constexpr std::int64_t retry_after_seconds(Duration wait) {
  const std::int64_t seconds = ceil_seconds(wait);
  return seconds < 1 ? 1 : seconds;
}

}  // namespace suimon
