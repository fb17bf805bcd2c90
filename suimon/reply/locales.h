// THE LIST of languages, and the choice among them.
// To add a language: a file in reply/locales/ and its line in locales.cc.
#pragma once

#include <span>
#include <string_view>

#include "suimon/reply/locale.h"

namespace suimon {

// The first is the default.
std::span<const Locale* const> registered_locales();

// The best language for an Accept-Language value (RFC 9110 section 12.5.4, lookup of RFC 4647
// section 3.4): by quality, then by place; "ja-JP" finds "ja"; "*" and nothing find the default.
// Looks at no more than 32 entries. Pure.
const Locale& choose_locale(std::string_view accept_language);

}  // namespace suimon
