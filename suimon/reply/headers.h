// THE LIST of header dialects. To add one: a file in reply/headers/, its line in headers.cc, and
// its name in policy/answers.h.
//
// Thread rule: pure functions, but for the wall clock that some of them ask.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "suimon/base/clock.h"
#include "suimon/reply/facts.h"

namespace suimon {

struct HeaderDialect {
  std::string_view name;    // as in the policy file
  std::string_view fields;  // what its fields are called; of several with the same, one is written
  // `wall` tells the nanoseconds since 1970-01-01 UTC; only a dialect that needs them asks.
  void (*append)(const Facts& facts, const Clock& wall, std::string& head);
};

// In the order of kHeaderDialectNames.
std::span<const HeaderDialect> header_dialects();

// Appends what every decision shows: the fields of the dialects that the policy lists, and on a
// refusal that passes Retry-After, whatever it lists: whole seconds, rounded up, at least 1
// (RFC 9110 section 10.2.3). Where two dialects would write fields of the same names, the one that
// is listed first does.
void append_decision_fields(const Facts& facts, const Clock& wall, std::string& head);

}  // namespace suimon
