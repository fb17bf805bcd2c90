#include "suimon/door/grpc/rls_response.h"

#include <algorithm>
#include <array>
#include <limits>

#include "suimon/base/text.h"
#include "suimon/door/grpc/wire.h"
#include "suimon/reply/body.h"
#include "suimon/reply/headers.h"

namespace suimon::door {
namespace {

enum class Code : std::uint8_t { ok = 1, over_limit = 2 };

constexpr std::uint32_t kMostU32 = std::numeric_limits<std::uint32_t>::max();

// RateLimitResponse
constexpr std::uint32_t kOverallCode = 1;
constexpr std::uint32_t kStatuses = 2;
constexpr std::uint32_t kResponseHeaders = 3;
constexpr std::uint32_t kRawBody = 5;

struct UnitLength {
  RatePerUnit::Unit unit;
  std::uint64_t ns;
};
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::array kUnits = {
    UnitLength{RatePerUnit::Unit::second, kSecond},
    UnitLength{RatePerUnit::Unit::minute, kSecond * 60},
    UnitLength{RatePerUnit::Unit::hour, kSecond * 3600},
    UnitLength{RatePerUnit::Unit::day, kSecond * 86'400},
};

void append_code(std::uint32_t field, Code code, std::string& out) {
  wire::append_number(field, static_cast<std::uint64_t>(code), out);
}

// DescriptorStatus, of a descriptor to which these limits apply.
void append_status(const Verdict& verdict, const Facts& facts, LimitSet applying,
                   std::string& out) {
  wire::Nested status(kStatuses, out);
  const LimitFacts* const binding = facts.binding(/*advertised_only=*/false, applying);
  append_code(1, binding != nullptr && binding->refused() ? Code::over_limit : Code::ok, out);
  const LimitFacts* const shown = facts.binding(/*advertised_only=*/true, applying);
  if (shown != nullptr && shown->missing.empty()) {
    const auto place = static_cast<std::size_t>(shown - facts.limits.data());
    const RatePerUnit rate = rate_per_unit(verdict.applied[place].bucket->parameters);
    wire::Nested limit(2, out);
    wire::append_number(1, rate.requests, out);
    wire::append_number(2, static_cast<std::uint64_t>(rate.unit), out);
    wire::append_bytes(3, shown->name, out);
    limit.end();
    wire::append_number(3, std::min<std::uint64_t>(shown->remaining, kMostU32), out);
    // Whole seconds: that is what gateways write into a header, and less than one would be none.
    wire::Nested reset(4, out);
    wire::append_number(1, static_cast<std::uint64_t>(ceil_seconds(shown->reset_after)), out);
    reset.end();
  }
  status.end();
}

void append_bare_statuses(Code code, std::size_t descriptors, std::string& out) {
  for (std::size_t i = 0; i < descriptors; ++i) {
    wire::Nested status(kStatuses, out);
    append_code(1, code, out);
    status.end();
  }
}

}  // namespace

RatePerUnit rate_per_unit(const Limit& limit) {
  const std::uint64_t capacity = std::min<std::uint64_t>(limit.capacity, kMostU32);
  RatePerUnit best{static_cast<std::uint32_t>(capacity), RatePerUnit::Unit::unknown};
  const auto period = static_cast<std::uint64_t>(limit.refill.period.count());
  for (const UnitLength& length : kUnits) {
    std::uint64_t tokens = 0;
    if (__builtin_mul_overflow(limit.refill.tokens, length.ns, &tokens)) break;
    if (tokens % period != 0 || tokens / period > kMostU32) continue;
    const bool whole = tokens / period == limit.capacity;
    if (!whole && best.unit != RatePerUnit::Unit::unknown) continue;
    best = {static_cast<std::uint32_t>(tokens / period), length.unit};
    if (whole) break;
  }
  return best;
}

// The header lines, one message each. Names in lower case, as HTTP/2 wants them.
void RlsResponse::append_headers(std::string& out) const {
  std::string_view rest = lines_;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find("\r\n"));
    rest.remove_prefix(line.size() + 2);
    const std::size_t colon = line.find(": ");
    wire::Nested header(kResponseHeaders, out);
    wire::append_bytes(1, line.substr(0, colon), out);
    for (std::size_t i = out.size() - colon; i < out.size(); ++i) out[i] = ascii_lower(out[i]);
    wire::append_bytes(2, line.substr(colon + 2), out);
    header.end();
  }
}

void RlsResponse::append(const Verdict& verdict, std::size_t descriptors,
                         const AcceptedLanguages& languages, const Clock& wall, std::string& out) {
  const Facts facts = facts_of(verdict);
  const bool refused = facts.outcome != Outcome::allowed;
  append_code(kOverallCode, refused ? Code::over_limit : Code::ok, out);
  for (std::size_t i = 0; i < descriptors; ++i) {
    append_status(verdict, facts, verdict.parts.empty() ? kAllLimits : verdict.parts[i], out);
  }
  lines_.clear();
  append_decision_fields(facts, wall, lines_);
  if (!refused) return append_headers(out);
  const Locale& locale = languages.choose(facts.answers->language);
  lines_.append("content-type: application/problem+json\r\ncontent-language: ").append(locale.tag);
  lines_ += "\r\ncache-control: no-store\r\nvary: accept-language\r\n";
  append_headers(out);
  body_.clear();
  append_refusal_body(facts, facts.deny_status(), locale, body_);
  wire::append_bytes(kRawBody, body_, out);
}

void RlsResponse::append_allowed(std::size_t descriptors, std::string& out) {
  append_code(kOverallCode, Code::ok, out);
  append_bare_statuses(Code::ok, descriptors, out);
}

void RlsResponse::append_unreadable(std::size_t descriptors, std::string_view detail,
                                    std::string& out) {
  append_code(kOverallCode, Code::over_limit, out);
  append_bare_statuses(Code::over_limit, descriptors, out);
  lines_ = "content-type: application/problem+json\r\ncache-control: no-store\r\n";
  append_headers(out);
  body_.clear();
  append_mistake_body(400, "Bad Request", detail, body_);
  wire::append_bytes(kRawBody, body_, out);
}

}  // namespace suimon::door
