#include "suimon/reply/facts.h"

#include <algorithm>

namespace suimon {
namespace {

// capacity / rate, rounded up to a nanosecond: how long an empty bucket takes to fill.
Duration fill_time(const Limit& limit) {
  using detail::uint128;
  const detail::Scale scale = detail::exact_scale(limit);
  return detail::wait_until(scale, Instant{}, scale.burst(), 0);
}

// How many more requests of this cost a limit would admit now.
std::uint64_t requests_left(const LimitFacts& limit) {
  return limit.remaining / std::max<std::uint64_t>(1, limit.cost);
}

// Whether `a` binds more than `b`.
bool binds_more(const LimitFacts& a, const LimitFacts& b) {
  if (a.outcome != b.outcome) return a.outcome > b.outcome;  // never, limited, allowed
  if (a.outcome == Outcome::limited) return a.retry_after > b.retry_after;
  if (a.outcome == Outcome::allowed) return requests_left(a) < requests_left(b);
  return false;
}

}  // namespace

const LimitFacts* Facts::binding(bool advertised_only, LimitSet among) const {
  const LimitFacts* most = nullptr;
  for (const LimitFacts& limit : all()) {
    const bool chosen = (among & 1U) != 0;
    among >>= 1;
    if (!chosen || (advertised_only && !limit.advertise)) continue;
    if (most == nullptr || binds_more(limit, *most)) most = &limit;
  }
  return most;
}

std::optional<Duration> Facts::retry_after() const {
  if (outcome != Outcome::limited) return std::nullopt;
  const LimitFacts* most = binding();
  return most == nullptr ? std::nullopt : most->retry_after;
}

namespace {

LimitFacts facts_of(const Judged& judged, std::size_t i) {
  const Applied& applied = judged.applied[i];
  LimitFacts limit;
  limit.name = applied.rule->name;
  limit.rule = applied.rule;
  limit.outcome = judged.outcome_of(i);
  limit.advertise = applied.rule->advertise;
  limit.shadow = applied.rule->shadow;
  limit.capacity = applied.bucket->parameters.capacity;
  limit.window = fill_time(applied.bucket->parameters);
  if (applied.missing != nullptr) {
    limit.missing = *applied.missing;
    return limit;
  }
  const Decision& decision = judged.decisions[i];
  limit.cost = decision.cost();
  limit.remaining = decision.remaining();
  limit.reset_after = decision.reset_after();
  limit.retry_after = decision.retry_after();
  limit.next_token_after = decision.next_token_after();
  return limit;
}

}  // namespace

int Facts::deny_status() const {
  const LimitFacts* most = binding();
  const bool own = most != nullptr && most->refused() && most->rule != nullptr &&
                   most->rule->deny_status.has_value();
  return own ? *most->rule->deny_status : answers->deny_status;
}

Facts facts_of(const Verdict& verdict) {
  Facts facts;
  facts.domain = verdict.ruleset->domain;
  facts.answers = &verdict.ruleset->answers;
  facts.outcome = verdict.outcome;
  facts.size = verdict.applied.size();
  facts.shadows_count = verdict.shadows.applied.size();
  for (std::size_t i = 0; i < facts.size; ++i) facts.limits[i] = facts_of(verdict, i);
  for (std::size_t i = 0; i < facts.shadows_count; ++i) {
    facts.limits[facts.size + i] = facts_of(verdict.shadows, i);
  }
  return facts;
}

void find_rules(const Policy& policy, Facts& facts) {
  const Ruleset* ruleset = policy.find(facts.domain);
  if (ruleset == nullptr) return;
  facts.answers = &ruleset->answers;
  for (std::size_t i = 0; i < facts.size; ++i) {
    LimitFacts& limit = facts.limits[i];
    for (const LimitRule& rule : ruleset->limits) {
      if (rule.name == limit.name) limit.rule = &rule;
    }
  }
}

}  // namespace suimon
