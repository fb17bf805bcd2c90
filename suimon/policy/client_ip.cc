#include "suimon/policy/client_ip.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "suimon/base/text.h"
#include "suimon/policy/forwarded.h"

namespace suimon {
namespace {

// Takes the last entry off a comma-separated list.
std::string_view pop_last(std::string_view& list) {
  const auto comma = list.rfind(',');
  const std::string_view last = comma == std::string_view::npos ? list : list.substr(comma + 1);
  list = comma == std::string_view::npos ? std::string_view{} : list.substr(0, comma);
  return trimmed(last);
}

std::optional<Address> pop_address(std::string_view& list) { return parse_address(pop_last(list)); }

std::optional<Address> pop_forwarded(std::string_view& list) {
  return forwarded_for(pop_last_forwarded(list));
}

// Counts from the right of a list whose last entry `pop` takes off.
template <class Pop>
std::optional<Address> walk(const ClientIpRule& rule, const std::optional<Address>& peer,
                            std::string_view list, Pop pop) {
  list = trimmed(list);
  if (rule.trusted_hops) {
    // Our innermost proxy is the peer; each further one added the address it saw.
    std::optional<Address> entry = peer;
    for (unsigned hop = 0; hop < *rule.trusted_hops; ++hop) {
      if (list.empty()) return peer;
      entry = pop(list);
    }
    return entry ? entry : peer;
  }
  std::optional<Address> last_trusted = peer;
  while (!list.empty()) {
    const auto entry = pop(list);
    // What stands left of an entry that is no address was written by nobody we know.
    if (!entry) return last_trusted;
    if (!rule.trusts(entry)) return entry;
    last_trusted = entry;
  }
  return last_trusted;
}

}  // namespace

std::string_view client_text(const Address& address, unsigned ipv6_prefix,
                             std::array<char, 64>& buffer) {
  constexpr socklen_t kSize = 64;
  if (address.is_v4()) {
    // By hand: this is on the way of every request, and inet_ntop goes through printf.
    char* at = buffer.data();
    for (std::size_t i = 12; i < 16; ++i) {
      if (i > 12) *at++ = '.';
      at = std::to_chars(at, at + 3, address.bytes[i]).ptr;
    }
    return {buffer.data(), static_cast<std::size_t>(at - buffer.data())};
  }
  Address cut = address;
  for (unsigned bit = ipv6_prefix; bit < 128; ++bit) {
    cut.bytes[bit / 8] &= static_cast<std::uint8_t>(~(0x80U >> (bit % 8)));
  }
  ::inet_ntop(AF_INET6, cut.bytes.data(), buffer.data(), kSize);
  std::size_t length = std::strlen(buffer.data());
  if (ipv6_prefix < 128) {
    buffer[length++] = '/';
    const auto end =
        std::to_chars(buffer.data() + length, buffer.data() + buffer.size(), ipv6_prefix);
    length = static_cast<std::size_t>(end.ptr - buffer.data());
  }
  return {buffer.data(), length};
}

bool ClientIpRule::trusts(const std::optional<Address>& peer) const {
  if (trusted_hops) return true;  // the number of proxies is known instead of their addresses
  if (!peer) return trust_local;
  if (trust_local && peer->is_loopback()) return true;
  return std::any_of(trusted_proxies.begin(), trusted_proxies.end(),
                     [&](const AddressRange& range) { return range.contains(*peer); });
}

std::optional<Address> ClientIpRule::client(const std::optional<Address>& peer,
                                            std::string_view value,
                                            const std::optional<Address>& proxied) const {
  if (from == From::peer || !trusts(peer)) return peer;
  switch (from) {
    case From::header: {
      const auto named = parse_address(trimmed(value));
      return named ? named : peer;
    }
    case From::proxy_protocol:
      return proxied ? proxied : peer;
    case From::forwarded:
      return walk(*this, peer, value, pop_forwarded);
    case From::forwarded_for:
    case From::peer:
      break;
  }
  return walk(*this, peer, value, pop_address);
}

std::optional<Address> ClientIpRule::client_in_list(const std::optional<Address>& peer,
                                                    std::string_view list) const {
  return trusts(peer) ? walk(*this, peer, list, pop_address) : peer;
}

}  // namespace suimon
