// The HTTP door: checks, forward-auth, refusals and health.
//
//   POST /v1/check            one check, as JSON
//   POST /v1/check/batch      up to 1,000 checks
//   any  /v1/forward-auth     the check for reverse proxies; from X-Forwarded-* of believed peers
//   any  /v1/refusal          writes a refusal down from X-Suimon-Verdict, charges nothing
//   GET  /healthz, /readyz
//   GET  /v1/openapi.json     all of this, for programs
//
// The door only translates: matching, deciding, counting and wording happen elsewhere, once.
// Thread rule: one door per loop, on its thread.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/base/pool.h"
#include "suimon/door/check_body.h"
#include "suimon/door/http_session.h"
#include "suimon/engine/engine.h"
#include "suimon/observe/counters.h"
#include "suimon/reply/facts.h"
#include "suimon/reply/locales.h"

namespace suimon::door {

class HttpDoor final : public HttpHandler {
 public:
  // `ready` tells /readyz whether new work is welcome; `wall` the time of day, where a header
  // dialect shows it.
  HttpDoor(net::Loop& loop, Engine& engine, LoopCounters& counters, DoorId id,
           const std::atomic<bool>& ready, const Clock& wall);
  ~HttpDoor() override;

  void wake(Instant now) override { engine_.wake(now); }
  void handle(const HttpRequest& request, const std::optional<Address>& peer,
              Exchange& exchange) override;
  void append_error(int status, std::string_view reason, std::string& lines,
                    std::string& body) override;

 private:
  // What a route needs to write its answer once the verdict is there.
  struct Pending;
  struct Part;

  void fixed(const HttpRequest& request, Exchange& exchange);
  void check(const HttpRequest& request, Exchange& exchange);
  void batch(const HttpRequest& request, Exchange& exchange);
  void forward_auth(const HttpRequest& request, const std::optional<Address>& peer,
                    Exchange& exchange);
  void refusal(const HttpRequest& request, const std::optional<Address>& peer, Exchange& exchange);

  Pending& open(const HttpRequest& request, Exchange& exchange);
  void close(Pending& pending);
  bool read_query(const HttpRequest& request, Pending& pending);
  void decide(const Request& request, Pending& pending);

  void answer(Pending& pending, const Verdict& verdict);
  void answer_batch(Pending& pending);
  void append_batch_element(Pending& pending, const Verdict& verdict, std::string& out);
  static void append_refusal_lines(bool plain_json, const Locale& locale, std::string& lines);
  AcceptedLanguages languages_of(const HttpRequest& request);
  std::string unknown_domain();
  void respond_mistake(Exchange& exchange, int status, std::string_view detail);
  void respond_method(Exchange& exchange, std::string_view allowed);

  net::Loop& loop_;
  Engine& engine_;
  LoopCounters& counters_;
  DoorId id_;
  const std::atomic<bool>& ready_;
  const Clock& wall_;
  CheckReader reader_;
  std::uint64_t decided_in_wake_ = 0;
  std::string lines_;
  std::string body_;
  std::string joined_;
  std::string domain_;
  std::vector<Attribute> attributes_;
  Pool<Pending> pendings_;
};

}  // namespace suimon::door
