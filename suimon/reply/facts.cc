#include "suimon/reply/facts.h"

#include <algorithm>

namespace suimon {
namespace {

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

void add_facts(const Judged& judged, std::size_t i, Facts& facts) {
  const Applied& applied = judged.applied[i];
  LimitFacts& limit = facts.limits.emplace_back();
  limit.name = applied.rule->name;
  limit.rule = applied.rule;
  limit.outcome = judged.outcome_of(i);
  limit.advertise = applied.rule->advertise;
  limit.shadow = applied.rule->shadow;
  limit.capacity = applied.bucket->parameters.capacity;
  limit.window = applied.bucket->fill_time;
  if (applied.missing != nullptr) {
    limit.missing = *applied.missing;
    return;
  }
  const Decision& decision = judged.decisions[i];
  limit.cost = decision.cost();
  limit.remaining = decision.remaining();
  limit.reset_after = decision.reset_after();
  limit.retry_after = decision.retry_after();
  limit.next_token_after = decision.next_token_after();
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
  for (std::size_t i = 0; i < facts.size; ++i) add_facts(verdict, i, facts);
  const std::size_t shadows = verdict.shadows.applied.size();
  for (std::size_t i = 0; i < shadows; ++i) add_facts(verdict.shadows, i, facts);
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
