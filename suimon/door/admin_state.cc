// The routes of the admin door that read and change the state of keys.
#include <fmt/format.h>

#include <iterator>

#include "suimon/base/json.h"
#include "suimon/core/key_text.h"
#include "suimon/door/admin_door.h"
#include "suimon/reply/facts.h"

namespace suimon::door {
namespace {

constexpr std::string_view kNoAnswer = "the store did not answer";

std::string ms(const std::optional<Duration>& wait) {
  return wait ? std::to_string(ceil_to(*wait, std::chrono::milliseconds(1))) : "null";
}

// Which key it was, for the answer as for the audit: never more than its hash.
void append_name(const Corrected& corrected, std::string& out) {
  out += "\"domain\":";
  append_json_string(out, corrected.ruleset->domain);
  out += ",\"limit\":";
  append_json_string(out, corrected.applied[0].rule->name);
  fmt::format_to(std::back_inserter(out), ",\"hash\":\"{}\"", key_text(corrected.charges[0].key));
}

}  // namespace

void AdminDoor::refund(Call& call) {
  Exchange& exchange = call.exchange;
  std::string_view id_view;
  const auto read = checks_.read_refund(call.request.body, id_view);
  if (!read) return respond_problem(exchange, 400, read.error().text);
  const std::string id(id_view);
  const Instant now = loop_.clock().now();
  switch (refunds_.note(id, now)) {
    case RefundBook::Entry::made:
      ++refund_results_[kRepeated];
      return respond_json(exchange, "{\"refunded\":false,\"limits\":[]}");
    case RefundBook::Entry::under_way:
      return respond_overloaded(exchange, 1, "a refund with this id is being made");
    case RefundBook::Entry::full:
      ++refund_results_[kFull];
      return respond_overloaded(
          exchange, retry_after_seconds(refunds_.room_at() - now),
          "65536 refunds were made within 10 minutes, and no more can be remembered");
    case RefundBook::Entry::fresh:
      break;
  }
  const auto begun = corrections_.refund(checks_.request(**read),
                                         [this, &exchange, id](const Corrected& corrected) {
                                           answer_refund(exchange, id, corrected);
                                         });
  if (begun) return;
  refunds_.settle(id, false);
  respond_problem(exchange, 400, begun.error().text);
}

void AdminDoor::answer_refund(Exchange& exchange, const std::string& id,
                              const Corrected& corrected) {
  refunds_.settle(id, !corrected.failed);
  ++refund_results_[corrected.failed ? kFailed : kMade];
  if (corrected.failed) return respond_overloaded(exchange, 1, kNoAnswer);
  std::string body = "{\"refunded\":true,\"limits\":[";
  for (std::size_t i = 0; i < corrected.decisions.size(); ++i) {
    const Decision& decision = corrected.decisions[i];
    body += i == 0 ? "{\"name\":" : ",{\"name\":";
    append_json_string(body, corrected.applied[i].rule->name);
    fmt::format_to(std::back_inserter(body),
                   ",\"tokens\":{},\"capacity\":{},\"remaining\":{},\"reset_after_ms\":{}}}",
                   corrected.charges[i].amount, decision.capacity(), decision.remaining(),
                   ms(decision.reset_after()));
  }
  body += "]}";
  respond_json(exchange, body);
}

void AdminDoor::read_key(Call& call) {
  Exchange& exchange = call.exchange;
  const auto name = keys_.read(call.request.body);
  if (!name) return respond_problem(exchange, 400, name.error().text);
  const auto begun = corrections_.look(
      *name, [this, &exchange](const Corrected& corrected) { answer_key(exchange, corrected); });
  if (!begun) respond_problem(exchange, 400, begun.error().text);
}

void AdminDoor::reset_key(Call& call) {
  Exchange& exchange = call.exchange;
  const auto name = keys_.read(call.request.body);
  if (!name) return respond_problem(exchange, 400, name.error().text);
  const auto begun = corrections_.reset(
      *name, [this, &exchange, who = std::string(call.who)](const Corrected& corrected) {
        resets_ += corrected.failed ? 0 : 1;
        std::string members = ",";
        append_name(corrected, members);
        members += corrected.failed ? R"(,"result":"failed")" : R"(,"result":"done")";
        audit(who, "reset", members);
        answer_key(exchange, corrected);
      });
  if (!begun) respond_problem(exchange, 400, begun.error().text);
}

void AdminDoor::answer_key(Exchange& exchange, const Corrected& corrected) {
  if (corrected.failed) return respond_overloaded(exchange, 1, kNoAnswer);
  const Decision& decision = corrected.decisions[0];
  const std::string& tier = corrected.applied[0].bucket->tier;
  std::string body = "{";
  append_name(corrected, body);
  body += ",\"tier\":";
  if (tier.empty()) {
    body += "null";
  } else {
    append_json_string(body, tier);
  }
  fmt::format_to(std::back_inserter(body),
                 ",\"capacity\":{},\"remaining\":{},\"retry_after_ms\":{},\"reset_after_ms\":{}}}",
                 decision.capacity(), decision.remaining(), ms(decision.retry_after()),
                 ms(decision.reset_after()));
  respond_json(exchange, body);
}

}  // namespace suimon::door
