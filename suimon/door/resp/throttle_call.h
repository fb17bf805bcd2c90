// CL.THROTTLE as redis-cell 0.5 answers it and THROTTLE as throttlecrab 0.4 does: words to a
// charge, a decision to the reply's five numbers.
//
// redis-cell's limit is a token bucket of max_burst + 1 tokens, of which one flows in every T ns,
// T = period / count as a double, truncated. throttlecrab's holds max_burst tokens. What the peers
// then tell of it (seconds, truncated or not, microseconds) is repeated here from the decision's
// exact nanoseconds; where we differ on purpose is said in docs/redis-protocol.md.
// Thread rule: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "suimon/core/charge.h"
#include "suimon/engine/throttle_sets.h"

namespace suimon::door {

struct ThrottleCall {
  ThrottleDialect dialect = ThrottleDialect::cl_throttle;
  ThrottleSet set;
  std::string_view key;
  std::uint64_t amount = 1;
  Op op = Op::take;  // or peek for a quantity of 0, give_back for one below
};

// Reads the words of a call, its name included. False: `error` is what to answer, as
// append_error() takes it.
bool read_throttle(ThrottleDialect dialect, std::span<const std::string_view> words,
                   ThrottleCall& call, std::string& error);

// The reply: limited, limit, remaining, retry_after, reset_after in redis-cell's dialect; allowed,
// limit, remaining, reset_after, retry_after in throttlecrab's. Requires a decision of a charge of
// `set`.
std::array<std::int64_t, 5> throttle_reply(ThrottleDialect dialect, const ThrottleSet& set,
                                           const Decision& decision);

}  // namespace suimon::door
