// Who the client is when proxies stand in between, and under which text it is known.
//
// Thread rule: values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/base/address.h"

namespace suimon {

// Writes the client that `address` stands for: IPv4 whole, IPv6 cut to `ipv6_prefix` bits and
// followed by "/64" unless the prefix is 128. The text is canonical (RFC 5952) and fits 64 bytes.
std::string_view client_text(const Address& address, unsigned ipv6_prefix,
                             std::array<char, 64>& buffer);

// How the client's address is found.
struct ClientIpRule {
  enum class From : std::uint8_t {
    peer,            // whoever is connected
    forwarded_for,   // a list such as X-Forwarded-For, counted from the right
    forwarded,       // the Forwarded field (RFC 7239), counted from the right
    header,          // one address in a header, such as X-Real-IP or CF-Connecting-IP
    proxy_protocol,  // the PROXY header at the beginning of the connection
  };
  From from = From::forwarded_for;
  std::string header = "x-forwarded-for";  // lower case
  std::vector<AddressRange> trusted_proxies;
  bool trust_local = true;               // loopback and unix sockets are trusted, too
  std::optional<unsigned> trusted_hops;  // instead of ranges: how many proxies are ours
  unsigned ipv6_prefix = 64;

  // Whether what `peer` says about others is believed. No peer (a unix socket) is local.
  bool trusts(const std::optional<Address>& peer) const;

  // The client behind `peer`, given the value of the header (all its lines joined by commas) and
  // whom the connection's PROXY header named.
  // By ranges: from the right, the first address that is not a trusted proxy; if all are, the
  // leftmost. By hops: the entry that our outermost proxy added. A header that is absent or too
  // short: the peer. Something that is no address ends the walk: the last trusted one counts.
  std::optional<Address> client(const std::optional<Address>& peer, std::string_view value,
                                const std::optional<Address>& proxied = std::nullopt) const;

  // The same for a list of bare addresses, as logs show it, whatever header the rule names.
  std::optional<Address> client_in_list(const std::optional<Address>& peer,
                                        std::string_view list) const;

  friend bool operator==(const ClientIpRule&, const ClientIpRule&) = default;
};

}  // namespace suimon
