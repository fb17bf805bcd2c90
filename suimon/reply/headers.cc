#include "suimon/reply/headers.h"

#include "suimon/reply/headers/ietf.h"

namespace suimon {
namespace {

constexpr HeaderDialect kDialects[] = {
    {"ietf", headers::append_ietf},
};

}  // namespace

std::span<const HeaderDialect> header_dialects() { return kDialects; }

void append_decision_fields(const Facts& facts, std::string& head) {
  kDialects[0].append(facts, head);
  if (const auto wait = facts.retry_after()) {
    fmt::format_to(std::back_inserter(head), "Retry-After: {}\r\n", retry_after_seconds(*wait));
  }
}

}  // namespace suimon
