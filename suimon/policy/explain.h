// Why each limit of a domain applies to a request, or does not.
//
// Thread rule: pure. Not for the way of a request: it allocates as it likes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suimon/policy/ruleset.h"

namespace suimon {

// One attribute that a limit or a cost rule looks at.
struct ExplainedMatcher {
  std::string attribute;
  std::string value;  // as it was compared; "" when it is missing
  std::vector<std::string> patterns;
  bool matches = false;
};

struct ExplainedLimit {
  enum class Why : std::uint8_t {
    applies,
    mismatch,  // a matcher does not match
    free,      // the cost is 0
    skipped,   // an attribute of the key is missing, and on_missing says skip
    denied,    // it is missing, and on_missing says deny: the limit applies and refuses
  };

  const LimitRule* rule = nullptr;
  Why why = Why::applies;
  std::vector<ExplainedMatcher> match;
  std::vector<std::pair<std::string, std::string>> key;  // what the hash is made of, by attribute
  std::string missing;                                   // the first part of the key that is, or ""
  std::optional<Key> hash;                               // there unless something is missing
  const Bucket* bucket = nullptr;
  std::string tier_attribute;  // "" without a choice
  std::string tier_asked;      // its value; "" when it is missing
  const CostRule* cost_rule = nullptr;
  std::uint64_t cost = 1;

  bool applies() const { return why == Why::applies || why == Why::denied; }
};

// Every limit in the order of the policy; nothing when the path cannot be decoded. A limit applies
// exactly when Ruleset::match finds it. Requires numbered shapes.
std::optional<std::vector<ExplainedLimit>> explain(const Ruleset& ruleset, const Request& request);

}  // namespace suimon
