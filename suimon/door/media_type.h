// What Content-Type says, as far as the doors care.
//
// Thread rule: pure functions.
#pragma once

#include <string_view>

#include "suimon/base/text.h"

namespace suimon::door {

// Whether a body is JSON, or of no type at all. The names of types mean the same in any case (RFC
// 9110 section 8.3.1).
inline bool is_json(std::string_view content_type) {
  constexpr std::string_view kSuffix = "+json";
  const std::string_view type = content_type.substr(0, content_type.find_first_of("; "));
  return content_type.empty() || equal_ignoring_case(type, "application/json") ||
         (type.size() > kSuffix.size() &&
          equal_ignoring_case(type.substr(type.size() - kSuffix.size()), kSuffix));
}

}  // namespace suimon::door
