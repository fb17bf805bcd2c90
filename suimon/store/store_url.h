// Where state lives, as a URL: "memory://?max_keys=1000000".
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "suimon/result.h"

namespace suimon {

struct StoreUrl {
  std::string_view scheme;             // what stands before "://"; a view into the text
  std::uint64_t max_keys = 1'000'000;  // that have state at once, 1 to 2^32
};

// The error says what was read and what would be right.
Result<StoreUrl> parse_store_url(std::string_view text);

}  // namespace suimon
