// Writes envoy.service.ratelimit.v3.RateLimitResponse: a verdict, as a gateway reads it.
//
// Each descriptor gets a status of its own: OVER_LIMIT where a limit that applies to it refused,
// and where its binding limit stands, if that is advertised. The headers and the body of a refusal
// are those that the policy gives an HTTP client, for the gateway to pass on.
// Thread rule: one writer a thread; it allocates only until its buffers have grown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "suimon/base/clock.h"
#include "suimon/limit.h"
#include "suimon/reply/facts.h"
#include "suimon/reply/locales.h"

namespace suimon::door {

// A rate in the words of the protocol: so many requests in one of its units.
struct RatePerUnit {
  // RateLimitResponse.RateLimit.Unit
  enum class Unit : std::uint8_t { unknown = 0, second = 1, minute = 2, hour = 3, day = 4 };
  std::uint32_t requests = 0;
  Unit unit = Unit::unknown;
};

// The unit in which the whole capacity comes back, else the shortest in which whole tokens do.
// Where none fits: the capacity and Unit::unknown.
RatePerUnit rate_per_unit(const Limit& limit);

class RlsResponse {
 public:
  // Requires a decided verdict over `descriptors` requests. Appends to `out`.
  void append(const Verdict& verdict, std::size_t descriptors, const AcceptedLanguages& languages,
              const Clock& wall, std::string& out);
  // No limit was looked for: all is allowed.
  static void append_allowed(std::size_t descriptors, std::string& out);
  // A request that cannot be judged and so does not pass; `detail` says why.
  void append_unreadable(std::size_t descriptors, std::string_view detail, std::string& out);

 private:
  void append_headers(std::string& out) const;

  std::string lines_;
  std::string body_;
};

}  // namespace suimon::door
