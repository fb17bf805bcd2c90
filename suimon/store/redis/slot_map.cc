#include "suimon/store/redis/slot_map.h"

#include "suimon/base/text.h"

namespace suimon::redis {
namespace {

constexpr std::size_t kMostHost = 255;

std::optional<net::Endpoint> read_endpoint(std::string_view host, std::int64_t port,
                                           const std::string& asked) {
  if (host == "?" || host.size() > kMostHost || port < 1 || port > 65'535) return std::nullopt;
  net::Endpoint endpoint;
  endpoint.host = host.empty() ? asked : std::string(host);
  endpoint.port = static_cast<std::uint16_t>(port);
  return endpoint;
}

}  // namespace

std::vector<SlotRange> read_slots(const Value& answer, const std::string& asked) {
  std::vector<SlotRange> ranges;
  for (const Value& range : answer.elements) {
    // first, last, the master, its replicas; a node is a host, a port, an id and what else there
    // is.
    if (range.elements.size() < 3 || range.elements[2].elements.size() < 2) continue;
    const std::int64_t first = range.elements[0].integer;
    const std::int64_t last = range.elements[1].integer;
    const auto& master = range.elements[2].elements;
    const auto endpoint = read_endpoint(master[0].text, master[1].integer, asked);
    if (!endpoint || first < 0 || last < first || last >= std::int64_t{kSlots}) continue;
    ranges.push_back(
        {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last), *endpoint});
  }
  return ranges;
}

std::optional<Redirect> read_redirect(std::string_view error, const std::string& asked) {
  const std::size_t one = error.find(' ');
  const std::size_t two = one == std::string_view::npos ? one : error.find(' ', one + 1);
  if (two == std::string_view::npos) return std::nullopt;
  const auto slot = parse_number<std::uint16_t>(error.substr(one + 1, two - one - 1));
  const std::string_view place = error.substr(two + 1);
  const std::size_t colon = place.rfind(':');
  if (!slot || *slot >= kSlots || colon == std::string_view::npos) return std::nullopt;
  const auto port = parse_number<std::uint16_t>(place.substr(colon + 1));
  const auto endpoint = read_endpoint(place.substr(0, colon), port.value_or(0), asked);
  if (!endpoint) return std::nullopt;
  return Redirect{*slot, *endpoint};
}

}  // namespace suimon::redis
