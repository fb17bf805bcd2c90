#include "suimon/reply/headers.h"

#include <algorithm>
#include <array>

#include "suimon/base/text.h"
#include "suimon/reply/headers/ietf.h"
#include "suimon/reply/headers/x_ratelimit.h"

namespace suimon {
namespace {

// Draft 11 is the newest; when there is a newer one, "ietf" follows it and "ietf-11" stays.
constexpr std::array kDialects = {
    HeaderDialect{"ietf", "RateLimit", headers::append_ietf},
    HeaderDialect{"ietf-11", "RateLimit", headers::append_ietf},
    HeaderDialect{"x-ratelimit", "X-RateLimit", headers::append_x_ratelimit},
    HeaderDialect{"x-ratelimit-epoch", "X-RateLimit", headers::append_x_ratelimit_epoch},
};
static_assert(std::equal(kDialects.begin(), kDialects.end(), kHeaderDialectNames.begin(),
                         kHeaderDialectNames.end(),
                         [](const HeaderDialect& dialect, std::string_view name) {
                           return dialect.name == name;
                         }),
              "policy files name the dialects of kHeaderDialectNames, in that order");

}  // namespace

std::span<const HeaderDialect> header_dialects() { return kDialects; }

void append_decision_fields(const Facts& facts, const Clock& wall, std::string& head) {
  const std::span<const std::uint8_t> listed = facts.answers->headers;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const HeaderDialect& dialect = kDialects[listed[i]];
    const auto earlier = listed.first(i);
    const bool written = std::any_of(earlier.begin(), earlier.end(), [&](std::uint8_t place) {
      return kDialects[place].fields == dialect.fields;
    });
    if (!written) dialect.append(facts, wall, head);
  }
  if (const auto wait = facts.retry_after()) {
    head += "Retry-After: ";
    append_number(retry_after_seconds(*wait), head);
    head += "\r\n";
  }
}

}  // namespace suimon
