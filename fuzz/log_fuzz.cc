// Any bytes as access log lines: each is read or refused, and what is read lies inside the line.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "suimon/replay/records.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool inside(std::string_view field, std::string_view line) {
  return field.empty() ||
         (field.data() >= line.data() && field.data() + field.size() <= line.data() + line.size());
}

void check_line(std::string_view line) {
  const auto parsed = suimon::parse_log_line(line);
  if (!parsed) {
    require(parsed.error().column >= 1 && parsed.error().column <= line.size() + 1);
    require(!suimon::describe(parsed.error(), line).empty());
    return;
  }
  std::string scratch;
  for (const std::string_view field :
       {parsed->clients, parsed->peer, parsed->user, parsed->method, parsed->target,
        parsed->protocol, parsed->referer, parsed->user_agent}) {
    require(inside(field, line));
    require(suimon::unescape(field, scratch).size() <= field.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const suimon::LogFile log{"log", std::string(reinterpret_cast<const char*>(data), size)};
  check_line(log.text);
  const suimon::Records records = suimon::read_records({&log, 1}, 3);
  require(records.bad_line_reasons.size() <= 3);
  suimon::ClientIpRule rule;
  rule.trusted_hops = 2;
  std::array<char, 64> buffer;
  for (const suimon::Record& record : records.in_order) {
    require(!records.in_order.empty() && record.seconds >= records.in_order.front().seconds);
    suimon::client_of(record, rule, buffer);
    suimon::client_of(record, suimon::ClientIpRule{}, buffer);
  }
  return 0;
}
