// RateLimit-Policy and RateLimit of the IETF draft "RateLimit header fields for HTTP".
// Source: draft-ietf-httpapi-ratelimit-headers-11 (May 2026), sections 3 and 4; the values are
// lists of RFC 9651 strings with parameters.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "suimon/reply/facts.h"

namespace suimon::headers {

// An Integer of RFC 9651 has at most 15 digits.
constexpr std::uint64_t sf_integer(std::uint64_t value) {
  return std::min<std::uint64_t>(value, 999'999'999'999'999);
}

// q: the capacity; w: the seconds in which it refills, left out when that is less than one.
// r: whole tokens left; t: when refused, the seconds until a retry succeeds, else those until the
// next token; left out when the bucket is full.
inline void append_ietf(const Facts& facts, std::string& head) {
  const LimitFacts* binding = facts.binding(/*advertised_only=*/true);
  if (binding == nullptr) return;
  auto out = std::back_inserter(head);
  head += "RateLimit-Policy: ";
  bool first = true;
  for (const LimitFacts& limit : facts.all()) {
    if (!limit.advertise) continue;
    fmt::format_to(out, "{}\"{}\";q={}", first ? "" : ", ", limit.name, sf_integer(limit.capacity));
    if (limit.window >= std::chrono::seconds(1)) {
      fmt::format_to(out, ";w={}", ceil_seconds(limit.window));
    }
    first = false;
  }
  head += "\r\n";
  if (!binding->missing.empty()) return;  // it was not charged: there is nothing to count
  fmt::format_to(out, "RateLimit: \"{}\";r={}", binding->name, sf_integer(binding->remaining));
  if (binding->retry_after) {
    fmt::format_to(out, ";t={}", retry_after_seconds(*binding->retry_after));
  } else if (binding->next_token_after) {
    fmt::format_to(out, ";t={}", ceil_seconds(*binding->next_token_after));
  }
  head += "\r\n";
}

}  // namespace suimon::headers
