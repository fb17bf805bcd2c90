// Counts, durations and rates as people write them.
//
//     count     10  500k  10M  2G                    (k, M, G: thousands, exactly)
//     duration  250ms  5s  10min  1h  1d  2 weeks
//     rate      5/s  300/min  10M/day  5/10s  1 per 5s  5 per 10min
//
// Units: ns, us, ms, s (sec, second), min (minute), h (hour), d (day), week; the words also in
// plural. Everything is whole and exact, and what cannot be is refused with what would be right.
//
// Thread rule: pure functions. Complexity: O(length).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "suimon/limit.h"
#include "suimon/result.h"
#include "suimon/time.h"

namespace suimon {

// A whole number from 0 to 2^60.
Result<std::uint64_t> parse_count(std::string_view text);

// Longer than 0, shorter than 292 years.
Result<Duration> parse_duration(std::string_view text);

// At least one token per period.
Result<Rate> parse_rate(std::string_view text);

// The shortest exact form that parse_duration reads: "90min", "1500ms". Requires one above 0.
std::string duration_text(Duration duration);

// A form that parse_rate reads: "5/s", "1 per 5s". Requires a rate that validate() takes.
std::string rate_text(const Rate& rate);

}  // namespace suimon
