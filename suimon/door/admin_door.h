// The admin listener: what operators look at, and what they change. Not for clients.
//
//   GET  /metrics, /healthz, /readyz
//   GET  /v1/limits             the policy in force
//   GET  /v1/top?limit=N        the keys that were refused most of late
//   POST /v1/keys/read          where one key stands
//   POST /v1/keys/reset    *    fills its bucket
//   POST /v1/refund        *    gives back what a request was charged, once for each id
//   POST /v1/reload        *    reads the policy again
//
// * changes something: it needs a bearer token of AdminTokens, which a browser never sends by
// itself, so a page cannot make it send one; nothing here allows other origins.
// Thread rule: on its loop's thread; what it shows is read from all loops.
#pragma once

#include <array>
#include <atomic>
#include <ctime>
#include <functional>
#include <string>

#include "suimon/door/admin_tokens.h"
#include "suimon/door/check_body.h"
#include "suimon/door/http_session.h"
#include "suimon/door/key_body.h"
#include "suimon/door/refund_book.h"
#include "suimon/engine/corrections.h"
#include "suimon/limiter.h"
#include "suimon/observe/metrics.h"

namespace suimon::door {

// Told once, on any thread: what changed, as a JSON object; or why the running policy stays.
using Reloaded = std::function<void(const Result<std::string>&)>;
// Has the policy read again. False, and nothing happens, when too many wait for that already.
using ReloadHook = std::function<bool(Reloaded)>;

struct AdminParts {
  const LivePolicy& policy;
  Store& store;
  const Metrics& metrics;
  const std::atomic<bool>& ready;
  AdminTokens tokens;
  std::function<std::string()> more_metrics;    // of whoever counts outside of Metrics
  ReloadHook reload;                            // none: /v1/reload is 501
  std::function<void(std::string_view)> audit;  // gets a JSON line for each change
  std::time_t (*unix_seconds)() = nullptr;      // the wall clock
};

class AdminDoor final : public HttpHandler {
 public:
  AdminDoor(net::Loop& loop, AdminParts parts);

  void handle(const HttpRequest& request, const std::optional<Address>& peer,
              Exchange& exchange) override;
  void append_error(int status, std::string_view reason, std::string& lines,
                    std::string& body) override;

 private:
  struct Route;
  // A request that has come as far as its route; `who` is the owner of its token, if it needs one.
  struct Call {
    const HttpRequest& request;
    Exchange& exchange;
    std::string_view who;
  };
  static const std::array<Route, 9> kRoutes;

  // Whose token the request shows. Nothing when it has been answered with why it may not.
  std::optional<std::string_view> authorize(const HttpRequest& request,
                                            const std::optional<Address>& peer, Exchange& exchange);

  void metrics(Call& call);
  void health(Call& call);
  void readiness(Call& call);
  void limits(Call& call);
  void top(Call& call);
  void reload(Call& call);
  void refund(Call& call);
  void read_key(Call& call);
  void reset_key(Call& call);

  void answer_refund(Exchange& exchange, const std::string& id, const Corrected& corrected);
  void answer_key(Exchange& exchange, const Corrected& corrected);
  void append_own_metrics(std::string& out) const;
  // `members` are those of a JSON object that follow time, who and what, with a leading comma.
  void audit(std::string_view who, std::string_view what, std::string_view members);

  static void respond_json(Exchange& exchange, std::string_view body);
  void respond_problem(Exchange& exchange, int status, std::string_view detail,
                       std::string_view lines = {});
  void respond_overloaded(Exchange& exchange, std::int64_t retry_after_s, std::string_view detail);

  enum Denied : std::size_t { kNotConfigured, kMissing, kWrong, kTooMany, kDenials };
  enum Refunds : std::size_t { kMade, kRepeated, kFull, kFailed, kRefundResults };

  net::Loop& loop_;
  AdminParts parts_;
  Corrections corrections_;
  CheckReader checks_;
  KeyReader keys_;
  RefundBook refunds_;
  Limiter guesses_;  // wrong tokens, by who shows them
  std::array<std::uint64_t, kDenials> denied_{};
  std::array<std::uint64_t, kRefundResults> refund_results_{};
  std::uint64_t resets_ = 0;
};

}  // namespace suimon::door
