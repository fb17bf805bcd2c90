#include "suimon/replay/records.h"

#include <algorithm>

namespace suimon {
namespace {

Record record_of(std::string_view line, const LogLine& parsed) {
  const auto field = [&](std::string_view text) {
    if (text.empty()) return Record::Field{};
    return Record::Field{static_cast<std::uint16_t>(text.data() - line.data()),
                         static_cast<std::uint16_t>(text.size())};
  };
  return {.seconds = parsed.seconds,
          .line = line.data(),
          .clients = field(parsed.clients),
          .peer = field(parsed.peer),
          .user = field(parsed.user),
          .method = field(parsed.method),
          .target = field(parsed.target),
          .user_agent = field(parsed.user_agent)};
}

void read_lines(const LogFile& log, std::size_t most_reasons, Records& out) {
  std::string_view rest = log.text;
  for (std::uint64_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (const auto parsed = parse_log_line(line)) {
      out.in_order.push_back(record_of(line, *parsed));
      continue;
    } else if (++out.bad_lines <= most_reasons) {
      out.bad_line_reasons.push_back(log.name + ":" + std::to_string(number) + ": " +
                                     describe(parsed.error(), line));
    }
  }
}

bool earlier(const Record& a, const Record& b) { return a.seconds < b.seconds; }

}  // namespace

Records read_records(std::span<const LogFile> logs, std::size_t most_reasons) {
  Records out;
  for (const LogFile& log : logs) read_lines(log, most_reasons, out);
  if (!std::is_sorted(out.in_order.begin(), out.in_order.end(), earlier)) {
    std::stable_sort(out.in_order.begin(), out.in_order.end(), earlier);
  }
  return out;
}

std::string_view client_of(const Record& record, const ClientIpRule& rule,
                           std::array<char, 64>& buffer) {
  std::string_view host = record.text(record.peer);
  std::string_view list = record.text(record.clients);
  if (host.empty()) {
    const std::size_t comma = list.rfind(',');
    host = list.substr(comma == std::string_view::npos ? 0 : comma + 1);
    host.remove_prefix(std::min(host.find_first_not_of(' '), host.size()));
    list = list.substr(0, comma == std::string_view::npos ? 0 : comma);
  }
  const auto peer = parse_address(host);
  // nginx writes "unix:" for a peer on a unix socket, which has no address and is local.
  if (!peer && host != "unix:") return host;
  // A log shows addresses, also where the proxy's own header is Forwarded.
  const bool forwarded = rule.from == ClientIpRule::From::forwarded;
  const auto client = forwarded ? rule.client_in_list(peer, list) : rule.client(peer, list);
  return client ? client_text(*client, rule.ipv6_prefix, buffer) : host;
}

}  // namespace suimon
