// Verdicts to write about, made by hand.
#pragma once

#include <vector>

#include "suimon/reply/facts.h"

namespace suimon {

struct Scene {
  LimitFacts& add(std::string_view name, Outcome outcome = Outcome::allowed) {
    LimitFacts& limit = facts.limits.emplace_back();
    ++facts.size;
    limit.name = name;
    limit.outcome = outcome;
    limit.capacity = 10;
    limit.cost = 1;
    limit.remaining = outcome == Outcome::allowed ? 9 : 0;
    limit.window = std::chrono::seconds(5);
    limit.reset_after = std::chrono::milliseconds(500);
    if (outcome == Outcome::limited) limit.retry_after = std::chrono::milliseconds(1200);
    if (outcome == Outcome::allowed) limit.next_token_after = std::chrono::milliseconds(500);
    if (outcome > facts.outcome) facts.outcome = outcome;
    return limit;
  }
  // After all others: shadows lie behind them.
  LimitFacts& add_shadow(std::string_view name, Outcome outcome) {
    const Outcome told = facts.outcome;
    LimitFacts& shadow = add(name, outcome);
    --facts.size;
    shadow.shadow = true;
    facts.outcome = told;
    return shadow;
  }
  Facts facts;
};

}  // namespace suimon
