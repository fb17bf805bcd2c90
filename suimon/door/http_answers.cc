// The answering half of the HTTP door: verdicts to header lines and bodies.
#include <algorithm>

#include "suimon/door/http_door.h"
#include "suimon/door/http_pending.h"
#include "suimon/door/http_response.h"
#include "suimon/reply/body.h"
#include "suimon/reply/headers.h"
#include "suimon/reply/token.h"

namespace suimon::door {
namespace {

constexpr std::string_view kJson = "Content-Type: application/json\r\n";
constexpr std::string_view kProblem = "Content-Type: application/problem+json\r\n";
constexpr std::string_view kNoStore = "Cache-Control: no-store\r\n";

// Why there is no verdict, for the caller's programmer; the status it is answered with.
struct Failure {
  int status;
  std::string_view text;
};

Failure failure_of(Verdict::Status status) {
  switch (status) {
    case Verdict::Status::unknown_domain:
      return {400, ""};  // unknown_domain() says more
    case Verdict::Status::bad_path:
      return {400,
              "the path cannot be decoded; send it as it stands in the request, beginning "
              "with / and with valid % escapes"};
    case Verdict::Status::too_many_limits:
      return {503, "more than 16 limits apply to this request"};
    case Verdict::Status::store_failed:
    case Verdict::Status::decided:
      break;
  }
  return {503, "the store did not answer"};
}

}  // namespace

void HttpDoor::append_refusal_lines(bool plain_json, const Locale& locale, std::string& lines) {
  lines += plain_json ? kJson : kProblem;
  lines += kNoStore;
  lines.append("Content-Language: ").append(locale.tag);
  lines += "\r\nVary: Accept, Accept-Language\r\n";
}

// Names a few: an answer must not grow with the number of domains.
std::string HttpDoor::unknown_domain() {
  constexpr std::size_t kNamed = 5;
  std::string text = "name one of the domains that are loaded:";
  const std::vector<Ruleset>& rulesets = engine_.policy().rulesets;
  for (std::size_t i = 0; i < std::min(kNamed, rulesets.size()); ++i) {
    text += " " + rulesets[i].domain;
  }
  return rulesets.size() > kNamed ? text + " ..." : text;
}

void HttpDoor::answer(Pending& pending, const Verdict& verdict) {
  Exchange& exchange = *pending.exchange;
  close(pending);  // its fields stay until it is opened again
  lines_.clear();
  body_.clear();
  if (verdict.status != Verdict::Status::decided) {
    const Failure why = failure_of(verdict.status);
    if (why.status == 503) {
      const Locale& locale = pending.languages.choose(language_of(verdict.ruleset));
      lines_ += "Retry-After: 1\r\n";
      append_overloaded_body(locale, why.text, body_);
      append_refusal_lines(pending.plain_json, locale, lines_);
      return exchange.respond(503, lines_, body_);
    }
    return respond_mistake(exchange, why.status,
                           verdict.status == Verdict::Status::unknown_domain
                               ? unknown_domain()
                               : std::string(why.text));
  }
  const Facts facts = facts_of(verdict);
  append_decision_fields(facts, wall_, lines_);
  if (pending.kind == Pending::Kind::forward_auth) {
    lines_ += "X-Suimon-Verdict: ";
    // What the client is to be told in the end: ?deny_status= is for the proxy that asks, which may
    // know no other refusal than 403.
    append_token(facts, facts.deny_status(), lines_);
    lines_ += "\r\n";
  }
  if (!verdict.allowed()) {
    const int status = pending.status_of_refusal(facts);
    const Locale& locale = pending.languages.choose(facts.answers->language);
    append_refusal_lines(pending.plain_json, locale, lines_);
    append_refusal_body(facts, status, locale, body_);
    return exchange.respond(status, lines_, body_);
  }
  if (pending.kind == Pending::Kind::forward_auth) {
    lines_ += kNoStore;
    return exchange.respond(200, lines_, {});
  }
  lines_ += kJson;
  lines_ += kNoStore;
  append_check_body(facts, body_);
  exchange.respond(200, lines_, body_);
}

void HttpDoor::append_batch_element(Pending& pending, const Verdict& verdict, std::string& out) {
  if (verdict.status != Verdict::Status::decided) {
    const Failure why = failure_of(verdict.status);
    if (why.status == 503) {
      return append_overloaded_body(pending.speak(language_of(verdict.ruleset)), why.text, out);
    }
    return append_mistake_body(why.status, "Bad Request",
                               verdict.status == Verdict::Status::unknown_domain
                                   ? unknown_domain()
                                   : std::string(why.text),
                               out);
  }
  const Facts facts = facts_of(verdict);
  if (verdict.allowed()) return append_check_body(facts, out);
  append_refusal_body(facts, pending.status_of_refusal(facts),
                      pending.speak(facts.answers->language), out);
}

void HttpDoor::answer_batch(Pending& pending) {
  body_.clear();
  body_ += '[';
  for (const Part& part : pending.parts) {
    if (body_.size() > 1) body_ += ',';
    body_ += part.text;
  }
  body_ += ']';
  lines_.clear();
  lines_ += kJson;
  lines_ += kNoStore;
  if (pending.spoken != 0) {  // elements of several domains may be in several languages
    std::string_view before = "Content-Language: ";
    for (std::size_t i = 0; i < registered_locales().size(); ++i) {
      if ((pending.spoken >> i & 1U) == 0) continue;
      lines_.append(before).append(registered_locales()[i]->tag);
      before = ", ";
    }
    lines_ += "\r\nVary: Accept-Language\r\n";
  }
  Exchange& exchange = *pending.exchange;
  pending.parts.clear();
  close(pending);
  exchange.respond(200, lines_, body_);
}

void HttpDoor::append_error(int status, std::string_view reason, std::string& lines,
                            std::string& body) {
  lines += kProblem;
  lines += kNoStore;
  append_mistake_body(status, reason_phrase(status), reason, body);
}

void HttpDoor::respond_mistake(Exchange& exchange, int status, std::string_view detail) {
  lines_.clear();
  body_.clear();
  append_error(status, detail, lines_, body_);
  exchange.refuse(status, lines_, body_);
}

void HttpDoor::respond_method(Exchange& exchange, std::string_view allowed) {
  lines_.clear();
  body_.clear();
  lines_.append("Allow: ").append(allowed).append("\r\n");
  append_error(405, "this path does not know that method; use " + std::string(allowed), lines_,
               body_);
  exchange.refuse(405, lines_, body_);
}

}  // namespace suimon::door
