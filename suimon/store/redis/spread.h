// What a store on Redis keeps of groups that are on their way.
//
// Thread rule: plain records of one loop.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "suimon/store/redis/batch.h"
#include "suimon/store/store.h"

namespace suimon::redis {

// One call of take().
struct Take {
  Done done;
  std::size_t left = 0;  // groups that are not decided yet
  std::size_t decided = 0;
  std::string error;  // the first one
};

struct Spread;

// What waits to be sent, or is: a group, or those of its charges that lie in one shard.
struct Waiting {
  Group* group = nullptr;
  Take* take = nullptr;
  Spread* spread = nullptr;  // null: all its keys lie in one shard
  Instant now;               // on the caller's clock
  Instant since;             // on the loop's
  std::uint16_t mask = 0;
  std::uint8_t tries = 0;
  bool look = false;
};

// A group whose keys lie in several shards. It is taken shard by shard, the narrowest limits first.
// Once one has refused, those before it are given back, and those after it only looked at.
struct Spread {
  struct Step {
    unsigned shard = 0;
    std::uint16_t mask = 0;  // which charges
    double rate = 0;         // of the narrowest of their limits, in tokens per nanosecond
  };
  struct Taken {  // from one key
    unsigned shard = 0;
    Patch patch;  // that takes it back
  };

  Waiting waiting;  // with the charges of its first step

  std::array<Step, suimon::kMostCharges> steps;
  std::size_t count = 0;  // of steps
  std::size_t at = 0;
  bool refused = false;
  std::array<Decision, suimon::kMostCharges> looks;  // what is heard when a later step refuses
  std::vector<Taken> taken;

  // Begins anew, without steps.
  void reset(const Waiting& whole) {
    waiting = whole;
    waiting.spread = this;
    count = at = 0;
    refused = false;
    taken.clear();
  }
  // The charges of the steps up to this one.
  std::uint16_t heard() const {
    std::uint16_t mask = 0;
    for (std::size_t i = 0; i <= at; ++i) mask = static_cast<std::uint16_t>(mask | steps[i].mask);
    return mask;
  }
  // A charge of this step has been taken, from a record that was `before` the step and is `left` by
  // it.
  void note(const Charge& charge, const Batch::Account& account, std::string before,
            std::string left) {
    if (!account.step.writes) return;
    const detail::Scale& scale = account.shape.scale();
    const auto units = static_cast<detail::uint128>(account.step.decision.granted()) * scale.token;
    const auto known = std::find_if(taken.begin(), taken.end(),
                                    [&](const Taken& one) { return one.patch.key == charge.key; });
    if (known != taken.end()) {
      // Of several charges on one key only the last one's tokens flow back, when the record has
      // changed meanwhile: a little too few, never too many.
      known->patch.back = flowing_back(account.now, scale, units);
      return;
    }
    taken.push_back({steps[at].shard,
                     {.key = charge.key,
                      .expected = std::move(left),
                      .replacement = std::move(before),
                      .back = flowing_back(account.now, scale, units)}});
  }
};

}  // namespace suimon::redis
