// How a Key is written for people and programs: 32 hexadecimal digits, in lower case. The secret's
// file has the same form.
//
// Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "suimon/core/charge.h"

namespace suimon {

// "00112233445566778899aabbccddeeff": the higher half first.
std::string key_text(const Key& key);

// What key_text wrote, in digits of either case; nothing for anything else.
std::optional<Key> parse_key_text(std::string_view text);

}  // namespace suimon
