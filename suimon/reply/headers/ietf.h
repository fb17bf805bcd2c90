// RateLimit-Policy and RateLimit of the IETF draft "RateLimit header fields for HTTP".
// Source: draft-ietf-httpapi-ratelimit-headers-11 (May 2026), sections 3 and 4; the values are
// lists of RFC 9651 strings with parameters.
#pragma once

#include <algorithm>
#include <string>

#include "suimon/base/clock.h"
#include "suimon/base/text.h"
#include "suimon/reply/facts.h"

namespace suimon::headers {

// An Integer of RFC 9651 has at most 15 digits.
constexpr std::uint64_t sf_integer(std::uint64_t value) {
  return std::min<std::uint64_t>(value, 999'999'999'999'999);
}

// A String of RFC 9651 (section 4.1.6) knows only printable ASCII; a byte that it cannot hold is
// written as "?". So no name ends its string, its field or its line.
inline void append_sf_string(std::string_view text, std::string& head) {
  head.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') head.push_back('\\');
    head.push_back(c >= 0x20 && c < 0x7f ? c : '?');
  }
  head.push_back('"');
}

// q: the capacity; w: the seconds in which it refills, left out when that is less than one.
// r: whole tokens left; t: when refused, the seconds until a retry succeeds, else those until the
// binding limit's next token; left out when the bucket is full.
inline void append_ietf(const Facts& facts, const Clock&, std::string& head) {
  const LimitFacts* binding = facts.binding(/*advertised_only=*/true);
  if (binding == nullptr) return;
  const auto parameter = [&head](std::string_view name, std::integral auto value) {
    head += name;
    append_number(value, head);
  };
  head += "RateLimit-Policy: ";
  bool first = true;
  for (const LimitFacts& limit : facts.all()) {
    if (!limit.advertise) continue;
    if (!first) head += ", ";
    append_sf_string(limit.name, head);
    parameter(";q=", sf_integer(limit.capacity));
    if (limit.window >= std::chrono::seconds(1)) parameter(";w=", ceil_seconds(limit.window));
    first = false;
  }
  head += "\r\n";
  if (!binding->missing.empty()) return;  // it was not charged: there is nothing to count
  head += "RateLimit: ";
  append_sf_string(binding->name, head);
  parameter(";r=", sf_integer(binding->remaining));
  // As Retry-After says, also when a limit that is not shown is the one that refused.
  const auto wait = facts.retry_after() ? facts.retry_after() : binding->retry_after;
  if (wait) {
    parameter(";t=", retry_after_seconds(*wait));
  } else if (binding->next_token_after) {
    parameter(";t=", ceil_seconds(*binding->next_token_after));
  }
  head += "\r\n";
}

}  // namespace suimon::headers
