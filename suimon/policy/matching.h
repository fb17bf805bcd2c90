// The steps of Ruleset::match, for whoever must tell why a limit applies or does not. Internal to
// suimon/policy.
//
// Thread rule: pure functions over an immutable ruleset; nothing is allocated once the scratch has
// grown.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/policy/ruleset.h"

namespace suimon::matching {

// The values of a request by attribute id; an empty view is a missing attribute.
struct Values {
  std::array<std::string_view, Ruleset::kMostAttributes> of;
  std::array<char, 64> client_buffer;

  bool has(AttributeId id) const { return !of[id].empty(); }
};

// The values as limits compare and hash them: addresses, paths and hosts in their one form. The
// views go as long as the request, the scratch and the values. False when the path cannot be
// decoded.
bool read_values(const Ruleset& ruleset, const Request& request, Values& values,
                 MatchScratch& scratch);

bool matches(const Matcher& matcher, const Values& values);
bool matches_all(const std::vector<Matcher>& matchers, const Values& values);

// The first cost rule that matches; null when none does, and the cost is 1.
const CostRule* cost_rule_of(const LimitRule& rule, const Values& values);

const Bucket& bucket_of(const LimitRule& rule, const Values& values);

// Encodes the key of `rule`; the first missing part, if on_missing has no answer to it.
std::optional<AttributeId> encode_key(const LimitRule& rule, const Values& values,
                                      std::string& encoded);

}  // namespace suimon::matching
