#include "suimon/door/http_door.h"

#include "suimon/door/http_pending.h"
#include "suimon/door/media_type.h"
#include "suimon/door/openapi.h"
#include "suimon/reply/body.h"
#include "suimon/reply/headers.h"
#include "suimon/reply/token.h"

namespace suimon::door {
namespace {

// RFC 9457 bodies have their own type; a client that asks for plain JSON and not for it gets that.
bool wants_plain_json(std::string_view accept) {
  return accept.find("application/json") != std::string_view::npos &&
         accept.find("application/problem+json") == std::string_view::npos;
}

}  // namespace

HttpDoor::HttpDoor(net::Loop& loop, Engine& engine, LoopCounters& counters, DoorId id,
                   const std::atomic<bool>& ready, const Clock& wall)
    : loop_(loop), engine_(engine), counters_(counters), id_(id), ready_(ready), wall_(wall) {
  loop.on_wake_end([this] {
    if (decided_in_wake_ == 0) return;
    counters_.measured(id_, loop_.clock().now() - loop_.now(), decided_in_wake_);
    decided_in_wake_ = 0;
  });
}

HttpDoor::~HttpDoor() = default;

void HttpDoor::handle(const HttpRequest& request, const std::optional<Address>& peer,
                      Exchange& exchange) {
  const std::string_view path = request.path();
  if (path == "/v1/forward-auth") return forward_auth(request, peer, exchange);
  if (path == "/v1/refusal") return refusal(request, peer, exchange);
  const bool is_check = path == "/v1/check";
  if (is_check || path == "/v1/check/batch") {
    if (request.method != "POST") return respond_method(exchange, "POST");
    if (!is_json(request.field("content-type"))) {
      return respond_mistake(exchange, 415,
                             "send the check as JSON, with Content-Type: application/json");
    }
    return is_check ? check(request, exchange) : batch(request, exchange);
  }
  fixed(request, exchange);
}

// Paths whose answer asks no policy.
void HttpDoor::fixed(const HttpRequest& request, Exchange& exchange) {
  constexpr std::string_view kText = "Content-Type: text/plain\r\nCache-Control: no-store\r\n";
  const std::string_view path = request.path();
  if (path == "*") {  // only OPTIONS has this target: is anybody there (RFC 9110 section 9.3.7)
    return exchange.respond(204, "Allow: GET, HEAD, POST, OPTIONS\r\n", {});
  }
  const bool describes = path == "/v1/openapi.json";
  if (!describes && path != "/healthz" && path != "/readyz") {
    return respond_mistake(exchange, 404,
                           "there is nothing here; the paths are /v1/check, /v1/check/batch, "
                           "/v1/forward-auth, /v1/refusal, /v1/openapi.json, /healthz and /readyz");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return respond_method(exchange, "GET, HEAD");
  }
  if (describes) {
    return exchange.respond(
        200, "Content-Type: application/json\r\nCache-Control: max-age=3600\r\n", kOpenApi);
  }
  const bool good = path == "/healthz" || ready_.load(std::memory_order_acquire);
  exchange.respond(good ? 200 : 503, kText, good ? "ok\n" : "not ready\n");
}

void HttpDoor::check(const HttpRequest& request, Exchange& exchange) {
  Pending& pending = open(request, exchange);
  pending.kind = Pending::Kind::check;
  if (!read_query(request, pending)) return;
  const auto read = reader_.read_one(request.body);
  if (!read) {
    close(pending);
    return respond_mistake(exchange, 400, read.error().text);
  }
  decide(reader_.request(**read), pending);
}

void HttpDoor::batch(const HttpRequest& request, Exchange& exchange) {
  Pending& pending = open(request, exchange);
  pending.kind = Pending::Kind::batch;
  if (!read_query(request, pending)) return;
  const auto read = reader_.read_batch(request.body);
  if (!read) {
    close(pending);
    return respond_mistake(exchange, 400, read.error().text);
  }
  // Runs of good checks go to the engine together; a mistake is an answer by itself. The last
  // part to be answered answers the whole, so one more is counted while they are handed out.
  const std::span<const Check> checks = *read;
  pending.parts.reserve(checks.size());
  pending.outstanding = 1;
  std::array<Request, Engine::kMostRequests> requests;
  std::size_t at = 0;
  while (at < checks.size()) {
    Part& part = pending.parts.emplace_back();
    part.pending = &pending;
    part.text.clear();
    if (!checks[at].mistake.empty()) {
      append_mistake_body(400, "Bad Request", checks[at].mistake, part.text);
      ++at;
      continue;
    }
    std::size_t count = 0;
    for (; at < checks.size() && count < requests.size() && checks[at].mistake.empty(); ++at) {
      requests[count++] = reader_.request(checks[at]);
    }
    ++pending.outstanding;
    decided_in_wake_ += count;
    engine_.decide({requests.data(), count}, id_,
                   {[](void* context, std::span<const Verdict> verdicts) {
                      Part& answered = *static_cast<Part*>(context);
                      Pending& whole = *answered.pending;
                      for (const Verdict& verdict : verdicts) {
                        if (!answered.text.empty()) answered.text += ',';
                        whole.door->append_batch_element(whole, verdict, answered.text);
                      }
                      if (--whole.outstanding == 0) whole.door->answer_batch(whole);
                    },
                    &part});
  }
  if (--pending.outstanding == 0) answer_batch(pending);
}

void HttpDoor::forward_auth(const HttpRequest& request, const std::optional<Address>& peer,
                            Exchange& exchange) {
  Pending& pending = open(request, exchange);
  pending.kind = Pending::Kind::forward_auth;
  if (!read_query(request, pending)) return;
  const Ruleset* ruleset = engine_.policy().find(domain_);
  if (ruleset == nullptr) {
    close(pending);
    return respond_mistake(exchange, 400, unknown_domain());
  }
  attributes_.clear();
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) attributes_.push_back({name, value});
  };
  // What a stranger says about others is not believed: then the client is the peer itself.
  const ClientIpRule& rule = ruleset->client_ip;
  if (rule.trusts(peer)) {
    add("method", request.field("x-forwarded-method"));
    add("path", request.field("x-forwarded-uri"));
    add("host", request.field("x-forwarded-host"));
  }
  std::array<char, 64> client_buffer;
  joined_.clear();
  if (!rule.header.empty()) request.joined(rule.header, joined_);
  if (const auto client = rule.client(peer, joined_, exchange.proxied_client())) {
    add("client_ip", client_text(*client, rule.ipv6_prefix, client_buffer));
  }
  add("user_agent", request.field("user-agent"));
  for (const AttributeSource& source : ruleset->sources) {
    add(ruleset->attributes[source.attribute], request.field(source.header));
  }
  decide({domain_, attributes_, 1}, pending);
}

void HttpDoor::refusal(const HttpRequest& request, const std::optional<Address>& peer,
                       Exchange& exchange) {
  bool believed = false;
  for (const Ruleset& ruleset : engine_.policy().rulesets) {
    believed = believed || ruleset.client_ip.trusts(peer);
  }
  lines_.clear();
  body_.clear();
  const AcceptedLanguages languages = languages_of(request);
  const bool plain_json = wants_plain_json(request.field("accept"));
  Told told;
  if (believed && parse_token(request.field("x-suimon-verdict"), told) &&
      told.facts.outcome != Outcome::allowed) {
    find_rules(engine_.policy(), told.facts);
    const Locale& locale = languages.choose(told.facts.answers->language);
    append_decision_fields(told.facts, wall_, lines_);
    append_refusal_body(told.facts, told.status, locale, body_);
    append_refusal_lines(plain_json, locale, lines_);
    return exchange.respond(told.status, lines_, body_);
  }
  constexpr int kPlain = 429;
  const Ruleset* only = engine_.policy().find("");
  const Locale& locale = languages.choose(language_of(only));
  lines_ += "Retry-After: 1\r\n";
  append_plain_refusal_body(kPlain, locale, body_);
  append_refusal_lines(plain_json, locale, lines_);
  exchange.respond(kPlain, lines_, body_);
}

// All lines of the field count as one list.
AcceptedLanguages HttpDoor::languages_of(const HttpRequest& request) {
  joined_.clear();
  request.joined("accept-language", joined_);
  return read_accept_language(joined_);
}

HttpDoor::Pending& HttpDoor::open(const HttpRequest& request, Exchange& exchange) {
  Pending& pending = pendings_.take();
  pending.door = this;
  pending.exchange = &exchange;
  pending.languages = languages_of(request);
  pending.plain_json = wants_plain_json(request.field("accept"));
  pending.deny_status = 0;
  pending.spoken = 0;
  pending.parts.clear();
  return pending;
}

void HttpDoor::close(Pending& pending) { pendings_.give_back(pending); }

// Reads ?deny_status= and, for forward-auth, ?domain=. On a mistake the request is answered and
// false returned.
bool HttpDoor::read_query(const HttpRequest& request, Pending& pending) {
  domain_.clear();
  bool domain_seen = false;
  std::string_view query = request.query();
  while (!query.empty()) {
    const auto end = query.find('&');
    const std::string_view parameter = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view{} : query.substr(end + 1);
    const auto equals = parameter.find('=');
    const std::string_view name = parameter.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : parameter.substr(equals + 1);
    std::string mistake;
    const bool names_domain = pending.kind == Pending::Kind::forward_auth;
    if (names_domain && name == "domain" && !domain_seen) {
      domain_seen = true;
      domain_ = value;
    } else if ((name == "domain" && domain_seen) ||
               (name == "deny_status" && pending.deny_status != 0)) {
      mistake = "a parameter stands twice in the query; send it once";
    } else if (name != "deny_status") {
      mistake = names_domain
                    ? "the query has an unknown parameter; known are deny_status and domain"
                    : "the query has an unknown parameter; known is deny_status, and the domain "
                      "stands in the body";
    } else if (const auto status = parse_deny_status(value)) {
      pending.deny_status = *status;
    } else {
      mistake = "deny_status must be 200, 403, 429 or 503";
    }
    if (mistake.empty()) continue;
    Exchange& exchange = *pending.exchange;
    close(pending);
    respond_mistake(exchange, 400, mistake);
    return false;
  }
  return true;
}

void HttpDoor::decide(const Request& request, Pending& pending) {
  ++decided_in_wake_;
  engine_.decide({&request, 1}, id_,
                 {[](void* context, std::span<const Verdict> verdicts) {
                    Pending& answered = *static_cast<Pending*>(context);
                    answered.door->answer(answered, verdicts.front());
                  },
                  &pending});
}

}  // namespace suimon::door
