// What a limit is: a capacity (burst) C in tokens and a refill rate R in tokens per time.
//
// The law that every implementation here keeps, for any mix of costs and threads:
//   bound   in every window of length t the admitted cost is at most C + floor(R*t);
//   honest  a request is refused only when fewer tokens than its cost are there.
// Source: the token bucket as in RFC 2697 and, equivalently, GCRA of ITU-T I.371.
#pragma once

#include <cstdint>

#include "suimon/result.h"
#include "suimon/time.h"

namespace suimon {

// `tokens` every `period`. Exact: 1/3 token per second is {1, 3 s}; nothing is rounded.
struct Rate {
  std::uint64_t tokens = 0;  // at least 1
  Duration period{0};        // at least 1 ns
  friend constexpr bool operator==(const Rate&, const Rate&) = default;
};

constexpr Rate per_second(std::uint64_t tokens) { return {tokens, std::chrono::seconds(1)}; }
constexpr Rate per_minute(std::uint64_t tokens) { return {tokens, std::chrono::minutes(1)}; }
constexpr Rate per_hour(std::uint64_t tokens) { return {tokens, std::chrono::hours(1)}; }
constexpr Rate per_day(std::uint64_t tokens) { return {tokens, std::chrono::hours(24)}; }

struct Limit {
  std::uint64_t capacity = 0;  // the most tokens that can be saved up; 1 to 2^60
  Rate refill;                 // at most 16 tokens per nanosecond
  friend constexpr bool operator==(const Limit&, const Limit&) = default;
};

// Says whether the limit can be kept exactly, and if not, what is wrong and what would be right:
// a capacity of 0 or above 2^60, no tokens or no time in the rate, more than 16 tokens per
// nanosecond, or a bucket that would need more than 73,000 years to fill.
Result<void> validate(const Limit& limit);

}  // namespace suimon
