// THE LIST of languages, and the choice among them.
// To add a language: a file in reply/locales/, its line in locales.cc, and its tag in
// policy/answers.h.
//
// Thread rule: pure functions and plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "suimon/reply/locale.h"

namespace suimon {

// In the order of kLanguageTags.
std::span<const Locale* const> registered_locales();

// What a caller can read, as far as there are sentences in it.
//
// A value is small and says nothing of the policy, so it can be read before it is known which
// policy decides.
struct AcceptedLanguages {
  std::optional<std::uint8_t> best;  // the place in registered_locales(); nothing: none is named
  std::uint32_t excluded = 0;        // by ;q=0, a bit for each place

  // The best of the named languages; else `otherwise` (a place in kLanguageTags), else the first
  // one that is not excluded. When all are excluded, `otherwise` all the same: an answer in a
  // language that is not wanted is better than none (RFC 9110 section 12.5.4).
  const Locale& choose(std::uint8_t otherwise) const;
};

// Reads an Accept-Language value (RFC 9110 section 12.5.4) by the lookup of RFC 4647 section 3.4:
// by quality, then by place; a range loses subtags from its end until it finds a language, so
// "ja-JP" finds "ja", and "zh-CN", "zh-Hans-SG" find "zh". "*" names no language. A range with
// quality 0 excludes the languages that it matches (section 3.3.1); "*;q=0" those that no other
// range has named.
//
// Whoever reads traditional characters (zh-Hant, zh-TW, zh-HK, zh-MO) can make something of "zh",
// which is in simplified ones: it is found, but any other language of the same quality goes first.
//
// Looks at no more than 32 entries; what cannot be read is passed over.
AcceptedLanguages read_accept_language(std::string_view value);

// Both in one.
const Locale& choose_locale(std::string_view accept_language, std::uint8_t otherwise = 0);

}  // namespace suimon
