// What operators see and change of single keys: refunds, looks and resets. Not the way of a
// decision: nothing is counted as one, and nothing has to be quick.
//
// Thread rule: one Corrections per event loop, used by that thread alone. With a store that
// answers inline, `heard` has run when the call returns; with a remote one it runs later.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "suimon/base/clock.h"
#include "suimon/engine/live_policy.h"
#include "suimon/policy/request.h"
#include "suimon/store/store.h"

namespace suimon {

// One key of one limit, named by what its client shows or by its hash.
struct KeyName {
  std::string_view domain;  // "" means the one domain that is loaded
  std::string_view limit;
  std::optional<Key> hash;                // in place of attributes
  std::span<const Attribute> attributes;  // those of the limit's key, and the one that names a tier
  std::string_view tier;                  // with a hash: whose parameters apply; "" is the default
};

// What a store said. The spans are of equal length and live while `heard` runs.
struct Corrected {
  const Ruleset* ruleset = nullptr;
  std::span<const Applied> applied;  // the limits
  std::span<const Charge> charges;
  std::span<const Decision> decisions;
  bool failed = false;  // the store did not answer; nothing else means anything
};

class Corrections {
 public:
  using Heard = std::function<void(const Corrected&)>;

  Corrections(const LivePolicy& policy, Store& store, const Clock& clock)
      : live_(policy), store_(store), clock_(clock) {}

  // Gives back what `request` was charged: the same limits, the same costs. No bucket becomes more
  // than full. An error, and nothing happens, for a request that cannot have been charged.
  Result<void> refund(const Request& request, Heard heard);

  // Where a key stands, as one more request of one token would find it. Changes nothing.
  Result<void> look(const KeyName& name, Heard heard);

  // Makes a key's bucket full.
  Result<void> reset(const KeyName& name, Heard heard);

 private:
  struct Work;

  Result<std::unique_ptr<Work>> find(const KeyName& name);
  void take(std::unique_ptr<Work> work);

  const LivePolicy& live_;
  Store& store_;
  const Clock& clock_;
  MatchScratch scratch_;
};

}  // namespace suimon
