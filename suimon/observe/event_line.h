// A refusal as one line of JSON.
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <string>

#include "suimon/observe/event.h"
#include "suimon/policy/settings.h"

namespace suimon {

// Appends "2026-11-30T15:56:00.018Z" (RFC 3339, UTC, milliseconds rounded down); `unix_ns` counts
// from 1970.
void append_time(std::string& out, std::int64_t unix_ns);

// Appends the event and a line feed. `wall_minus_boot` makes Unix time of the instants of
// decisions; `client` is written unless `identify` is none.
void append_event(std::string& out, const Event& event, std::span<const std::string_view> doors,
                  Identify identify, Duration wall_minus_boot);

// Appends the line that says how many refusals have not been written since the last such line.
void append_dropped(std::string& out, std::uint64_t dropped, std::int64_t unix_ns);

}  // namespace suimon
