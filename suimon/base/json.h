// Writing JSON strings.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace suimon {

// Appends `text` as a JSON string, quotes included (RFC 8259 section 7). Text comes from anywhere,
// so what is not UTF-8 becomes U+FFFD, once for each maximal subpart (Unicode, section 3.9), and
// the result is always valid.
void append_json_string(std::string& out, std::string_view text);

}  // namespace suimon
