#include "suimon/door/resp/check_call.h"

#include "suimon/base/text.h"
#include "suimon/reply/facts.h"

namespace suimon::door {
namespace {

constexpr std::string_view mistake_of(Verdict::Status status) {
  switch (status) {
    case Verdict::Status::unknown_domain:
      return "ERR no such domain is loaded; \"\" is the one that is, where there is only one";
    case Verdict::Status::bad_path:
      return "ERR the path cannot be decoded";
    case Verdict::Status::too_many_limits:
      return "ERR more than 16 limits apply to this request";
    case Verdict::Status::store_failed:
      return "ERR the store did not answer";
    case Verdict::Status::decided:
      break;
  }
  return {};
}

}  // namespace

bool CheckCalls::add(std::span<const std::string_view> words, std::string& error) {
  const auto cost = parse_number<std::uint64_t>(words[2]);
  if (!cost) {
    error = "ERR the cost must be a whole number from 0 to 18446744073709551615";
    return false;
  }
  if (words.size() % 2 == 0) {
    error =
        "ERR an attribute has no value; write SUIMON.CHECK domain cost attribute value [attribute "
        "value ...]";
    return false;
  }
  std::vector<Attribute>& attributes = attributes_[size_];
  attributes.clear();
  for (std::size_t i = 3; i < words.size(); i += 2) {
    if (attributes.size() == Request::kMostAttributes) {
      error = "ERR a check has at most 64 attributes";
      return false;
    }
    for (const Attribute& other : attributes) {
      if (other.name == words[i]) {
        error = "ERR an attribute stands twice; send it once";
        return false;
      }
    }
    attributes.push_back({words[i], words[i + 1]});
  }
  requests_[size_++] = {words[1], attributes, *cost};
  return true;
}

void append_check_reply(const Verdict& verdict, Resp version, std::string& out) {
  if (verdict.status != Verdict::Status::decided) {
    return append_error(mistake_of(verdict.status), out);
  }
  const Facts facts = facts_of(verdict);
  const LimitFacts* binding = facts.binding();
  const auto wait = facts.retry_after();
  constexpr Duration kUnit = std::chrono::milliseconds(1);
  append_array(5, out);
  append_integer(verdict.allowed() ? 1 : 0, out);
  binding == nullptr ? append_null(version, out) : append_bulk(binding->name, out);
  append_integer(binding == nullptr ? -1 : static_cast<std::int64_t>(binding->remaining), out);
  append_integer(wait ? ceil_to(*wait, kUnit) : -1, out);
  append_integer(binding == nullptr ? 0 : ceil_to(binding->reset_after, kUnit), out);
}

}  // namespace suimon::door
