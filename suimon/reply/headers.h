// THE LIST of header dialects. To add one: a file in reply/headers/ and its line in headers.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "suimon/reply/facts.h"

namespace suimon {

struct HeaderDialect {
  std::string_view name;  // as in the policy file
  void (*append)(const Facts& facts, std::string& head);
};

std::span<const HeaderDialect> header_dialects();

// Appends what every decision shows (the fields of the default dialect) and, on a refusal that
// passes, Retry-After: whole seconds, rounded up, at least 1 (RFC 9110 section 10.2.3).
void append_decision_fields(const Facts& facts, std::string& head);

}  // namespace suimon
