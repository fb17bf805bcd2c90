// What the admin door shows, as JSON.
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "suimon/core/shapes.h"
#include "suimon/observe/top_keys.h"
#include "suimon/policy/ruleset.h"
#include "suimon/result.h"

namespace suimon::door {

// {"domains": [{"domain": ..., "limits": [...]}]}: every limit with what it looks at, whom it
// counts by and what it allows.
std::string limits_body(const Policy& policy);

// {"halved_every_s": 60, "limits": [{"domain", "limit", "keys": [{"hash", "refused",
// "at_most"}]}]}: of each limit the first `count` keys, in the order in which they come.
std::string top_body(std::span<const TopKey> keys, const Shapes& shapes, std::size_t count);

// The N of "limit=N", 1 to 1000; 10 when the query is empty.
Result<std::size_t> read_top_query(std::string_view query);

}  // namespace suimon::door
