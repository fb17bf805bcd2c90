// The lines of access logs in the order of their times.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/policy/client_ip.h"
#include "suimon/replay/access_log.h"
#include "suimon/replay/log_file.h"

namespace suimon {

// What is kept of a line: where its fields stand in the log's text.
struct Record {
  struct Field {
    std::uint16_t at = 0;  // a line is no longer than kLongestLogLine
    std::uint16_t size = 0;
  };

  std::int64_t seconds = 0;
  const char* line = nullptr;
  Field clients, peer, user, method, target, user_agent;

  std::string_view text(Field field) const { return {line + field.at, field.size}; }
};
static_assert(sizeof(Record) == 40);

struct Records {
  std::vector<Record> in_order;  // stably sorted by time over all logs; they point into the logs
  std::uint64_t bad_lines = 0;
  std::vector<std::string> bad_line_reasons;  // "file:line: reason" of the first ones
};

Records read_records(std::span<const LogFile> logs, std::size_t most_reasons);

// The client of a line, as the limits know it: the policy's trust rule decides over a list, in
// which the last entry, or the address after a quoted list, is the peer. A host that is no
// address is a client of its own. The text lives in the log or in `buffer`.
std::string_view client_of(const Record& record, const ClientIpRule& rule,
                           std::array<char, 64>& buffer);

}  // namespace suimon
