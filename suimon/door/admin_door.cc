#include "suimon/door/admin_door.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <iterator>

#include "suimon/base/json.h"
#include "suimon/base/text.h"
#include "suimon/door/admin_views.h"
#include "suimon/door/http_response.h"
#include "suimon/door/media_type.h"
#include "suimon/reply/body.h"
#include "suimon/reply/facts.h"
#include "suimon/reply/locales.h"

namespace suimon::door {
namespace {

constexpr std::string_view kText = "Content-Type: text/plain\r\nCache-Control: no-store\r\n";
constexpr std::string_view kJson = "Content-Type: application/json\r\nCache-Control: no-store\r\n";
constexpr std::string_view kProblem =
    "Content-Type: application/problem+json\r\nCache-Control: no-store\r\n";
constexpr std::string_view kGet = "GET, HEAD";
constexpr std::string_view kPost = "POST";

// Ten wrong tokens at once and ten a minute, for each address: people mistype, programs guess.
constexpr Limiter::Options kGuesses = {.limit = {.capacity = 10, .refill = per_minute(10)},
                                       .max_keys = 1024};

// Who shows tokens: an IPv6 network of 64 bits counts as one; all unix sockets do.
std::string guesser(const std::optional<Address>& peer) {
  if (!peer) return "local";
  const std::size_t length = peer->is_v4() ? peer->bytes.size() : 8;
  return std::string(reinterpret_cast<const char*>(peer->bytes.data()), length);
}

// The token of "Bearer TOKEN" (RFC 9110 section 11.4, RFC 6750 section 2.1), "" for anything else.
std::string_view bearer(std::string_view field) {
  constexpr std::string_view kScheme = "bearer ";
  if (!equal_ignoring_case(field.substr(0, kScheme.size()), kScheme)) return {};
  return trimmed(field.substr(kScheme.size()));
}

bool allows(std::string_view methods, std::string_view method) {
  return method == "HEAD" ? methods == kGet : methods.substr(0, methods.find(',')) == method;
}

}  // namespace

struct AdminDoor::Route {
  std::string_view path;
  std::string_view methods;
  void (AdminDoor::*run)(Call&);
  bool changes = false;
  bool has_body = false;
};

const std::array<AdminDoor::Route, 9> AdminDoor::kRoutes = {{
    {"/metrics", kGet, &AdminDoor::metrics},
    {"/healthz", kGet, &AdminDoor::health},
    {"/readyz", kGet, &AdminDoor::readiness},
    {"/v1/limits", kGet, &AdminDoor::limits},
    {"/v1/top", kGet, &AdminDoor::top},
    {"/v1/keys/read", kPost, &AdminDoor::read_key, false, true},
    {"/v1/keys/reset", kPost, &AdminDoor::reset_key, true, true},
    {"/v1/refund", kPost, &AdminDoor::refund, true, true},
    {"/v1/reload", kPost, &AdminDoor::reload, true},
}};

AdminDoor::AdminDoor(net::Loop& loop, AdminParts parts)
    : loop_(loop),
      parts_(std::move(parts)),
      corrections_(parts_.policy, parts_.store, loop.clock()),
      refunds_(random_secret()),
      guesses_(kGuesses) {}

void AdminDoor::handle(const HttpRequest& request, const std::optional<Address>& peer,
                       Exchange& exchange) {
  const std::string_view path = request.path();
  const Route* route = nullptr;
  for (const Route& candidate : kRoutes) {
    if (candidate.path == path) route = &candidate;
  }
  if (route == nullptr) {
    std::string detail = "there is nothing here; the paths are";
    for (const Route& known : kRoutes) {
      detail.append(&known == &kRoutes.front() ? " " : ", ").append(known.path);
    }
    return respond_problem(exchange, 404, detail);
  }
  if (!allows(route->methods, request.method)) {
    return respond_problem(
        exchange, 405, fmt::format("this path does not know that method; use {}", route->methods),
        fmt::format("Allow: {}\r\n", route->methods));
  }
  Call call{request, exchange, {}};
  if (route->changes) {
    const auto who = authorize(request, peer, exchange);
    if (!who) return;
    call.who = *who;
  }
  if (route->has_body && !is_json(request.field("content-type"))) {
    return respond_problem(exchange, 415,
                           "send the body as JSON, with Content-Type: application/json");
  }
  (this->*route->run)(call);
}

std::optional<std::string_view> AdminDoor::authorize(const HttpRequest& request,
                                                     const std::optional<Address>& peer,
                                                     Exchange& exchange) {
  constexpr std::string_view kChallenge = "WWW-Authenticate: Bearer realm=\"suimon\"";
  if (parts_.tokens.empty()) {
    ++denied_[kNotConfigured];
    respond_problem(exchange, 403,
                    "this path changes something, and nobody may: no token is configured; start "
                    "suimon serve with --admin-token-file FILE, mode 0600, one token a line");
    return std::nullopt;
  }
  if (request.count("authorization") > 1) {
    respond_problem(exchange, 400, "the header Authorization stands twice; send one of them");
    return std::nullopt;
  }
  const std::string_view token = bearer(request.field("authorization"));
  if (token.empty()) {
    ++denied_[kMissing];
    respond_problem(exchange, 401,
                    "this path changes something; send a token of the file that --admin-token-file "
                    "names, as Authorization: Bearer TOKEN",
                    fmt::format("{}\r\n", kChallenge));
    return std::nullopt;
  }
  // Before the token is looked at: otherwise a guesser would learn of a hit all the same.
  const std::string key = guesser(peer);
  const Instant now = loop_.clock().now();
  if (const Decision left = guesses_.peek(key, 1, now); !left.allowed()) {
    ++denied_[kTooMany];
    const std::int64_t seconds = retry_after_seconds(left.retry_after().value_or(Duration(0)));
    respond_problem(exchange, 429,
                    fmt::format("too many wrong tokens came from here; wait {} s", seconds),
                    fmt::format("Retry-After: {}\r\n", seconds));
    return std::nullopt;
  }
  const auto who = parts_.tokens.who(token);
  if (!who) {
    guesses_.check(key, 1, now);
    ++denied_[kWrong];
    respond_problem(exchange, 401,
                    "this token is not known; send what stands behind a name and the colon in the "
                    "file that --admin-token-file names",
                    fmt::format("{}, error=\"invalid_token\"\r\n", kChallenge));
  }
  return who;
}

void AdminDoor::metrics(Call& call) {
  std::string page = parts_.metrics.render();
  append_own_metrics(page);
  if (parts_.more_metrics) page += parts_.more_metrics();
  call.exchange.respond(
      200, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nCache-Control: no-store\r\n",
      page);
}

void AdminDoor::health(Call& call) { call.exchange.respond(200, kText, "ok\n"); }

void AdminDoor::readiness(Call& call) {
  const bool ready = parts_.ready.load(std::memory_order_acquire);
  call.exchange.respond(ready ? 200 : 503, kText, ready ? "ok\n" : "not ready\n");
}

void AdminDoor::limits(Call& call) {
  respond_json(call.exchange, limits_body(*parts_.policy.current()));
}

void AdminDoor::top(Call& call) {
  const auto count = read_top_query(call.request.query());
  if (!count) return respond_problem(call.exchange, 400, count.error().text);
  respond_json(call.exchange, top_body(parts_.metrics.top_keys(loop_.clock().now()),
                                       parts_.policy.shapes(), *count));
}

void AdminDoor::reload(Call& call) {
  if (!call.request.body.empty()) {
    return respond_problem(call.exchange, 400,
                           "a reload has no body: it reads the file that suimon serve was given");
  }
  if (!parts_.reload) {
    return respond_problem(call.exchange, 501, "this program cannot reload; restart it");
  }
  Exchange& exchange = call.exchange;
  const bool begun = parts_.reload(
      [this, &exchange, who = std::string(call.who)](const Result<std::string>& done) {
        loop_.post([this, &exchange, who, done] {
          audit(who, "reload", done ? R"(,"result":"done")" : R"(,"result":"failed")");
          if (done) return respond_json(exchange, *done);
          respond_problem(exchange, 422, done.error().text);
        });
      });
  if (!begun) respond_overloaded(exchange, 1, "too many reloads wait already");
}

void AdminDoor::append_own_metrics(std::string& out) const {
  constexpr std::array<std::string_view, kDenials> kDenied = {"not_configured", "missing", "wrong",
                                                              "too_many"};
  constexpr std::array<std::string_view, kRefundResults> kRefunded = {"made", "repeated", "full",
                                                                      "failed"};
  const auto into = std::back_inserter(out);
  out +=
      "# HELP suimon_admin_denied_total Changes that were asked for without a right to them.\n"
      "# TYPE suimon_admin_denied_total counter\n";
  for (std::size_t i = 0; i < kDenials; ++i) {
    fmt::format_to(into, "suimon_admin_denied_total{{reason=\"{}\"}} {}\n", kDenied[i], denied_[i]);
  }
  out +=
      "# HELP suimon_refunds_total Refunds, by what became of them.\n"
      "# TYPE suimon_refunds_total counter\n";
  for (std::size_t i = 0; i < kRefundResults; ++i) {
    fmt::format_to(into, "suimon_refunds_total{{result=\"{}\"}} {}\n", kRefunded[i],
                   refund_results_[i]);
  }
  fmt::format_to(into,
                 "# HELP suimon_key_resets_total Buckets that an operator has filled.\n"
                 "# TYPE suimon_key_resets_total counter\nsuimon_key_resets_total {}\n",
                 resets_);
}

void AdminDoor::audit(std::string_view who, std::string_view what, std::string_view members) {
  if (!parts_.audit) return;
  std::string line = fmt::format("{{\"time\":\"{:%Y-%m-%dT%H:%M:%SZ}\",\"who\":",
                                 fmt::gmtime(parts_.unix_seconds()));
  append_json_string(line, who);
  line += ",\"what\":";
  append_json_string(line, what);
  line.append(members).append("}");
  parts_.audit(line);
}

void AdminDoor::respond_json(Exchange& exchange, std::string_view body) {
  exchange.respond(200, kJson, body);
}

void AdminDoor::append_error(int status, std::string_view reason, std::string& lines,
                             std::string& body) {
  lines += kProblem;
  append_mistake_body(status, reason_phrase(status), reason, body);
}

void AdminDoor::respond_problem(Exchange& exchange, int status, std::string_view detail,
                                std::string_view lines) {
  std::string all(lines);
  std::string body;
  append_error(status, detail, all, body);
  const bool wrong_in_itself = status == 400 || status == 404 || status == 405 || status == 415;
  if (wrong_in_itself) return exchange.refuse(status, all, body);
  exchange.respond(status, all, body);
}

void AdminDoor::respond_overloaded(Exchange& exchange, std::int64_t retry_after_s,
                                   std::string_view detail) {
  std::string body;
  append_overloaded_body(choose_locale(""), detail, body);
  exchange.respond(503, fmt::format("Retry-After: {}\r\n{}", retry_after_s, kProblem), body);
}

}  // namespace suimon::door
