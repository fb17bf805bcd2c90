// X-RateLimit-Limit, -Remaining and -Reset, as many APIs have sent them for years.
//
// There is no standard: Limit is the capacity, Remaining the whole tokens left, Reset the time at
// which the bucket is full again, in seconds from now or since 1970-01-01 UTC, rounded up. They
// tell of one limit only: the binding one of those that are advertised.
// Source: draft-ietf-httpapi-ratelimit-headers, its appendix on the fields in use on the web.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>

#include "suimon/base/clock.h"
#include "suimon/reply/facts.h"

namespace suimon::headers {

inline void append_x_fields(const LimitFacts& limit, std::int64_t reset, std::string& head) {
  fmt::format_to(std::back_inserter(head),
                 "X-RateLimit-Limit: {}\r\nX-RateLimit-Remaining: {}\r\nX-RateLimit-Reset: {}\r\n",
                 limit.capacity, limit.remaining, reset);
}

inline void append_x_ratelimit(const Facts& facts, const Clock&, std::string& head) {
  const LimitFacts* binding = facts.binding(/*advertised_only=*/true);
  if (binding == nullptr || !binding->missing.empty()) return;  // nothing was counted
  append_x_fields(*binding, ceil_seconds(binding->reset_after), head);
}

// The decision was made before `wall` is read, so the instant is never too early.
inline void append_x_ratelimit_epoch(const Facts& facts, const Clock& wall, std::string& head) {
  const LimitFacts* binding = facts.binding(/*advertised_only=*/true);
  if (binding == nullptr || !binding->missing.empty()) return;
  const Instant full = wall.now() + binding->reset_after;
  append_x_fields(*binding, ceil_seconds(full - Instant{}), head);
}

}  // namespace suimon::headers
