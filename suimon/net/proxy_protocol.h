// The PROXY protocol, versions 1 and 2: what a proxy writes before everything else on a connection,
// to say whose connection it passes on.
//
// Source: haproxy.org, doc/proxy-protocol.txt. Thread rule: a pure function. Complexity: O(length).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "suimon/base/address.h"

namespace suimon::net {

struct ProxyHeader {
  enum class Status : std::uint8_t {
    need_more,  // all of `in` belongs to a header that has not come whole
    good,
    bad,
  };

  static constexpr std::size_t kMostTextBytes = 107;    // of version 1, its CRLF included
  static constexpr std::size_t kMostBytes = 16 + 2048;  // of version 2

  Status status = Status::need_more;
  std::size_t length = 0;  // good: of the header; what follows is the connection's own
  // good: who is connected to the proxy; nothing where the proxy speaks for itself (LOCAL) or
  // does not know (UNKNOWN, a unix socket): then the proxy itself is the client.
  std::optional<Address> client;
  std::string_view mistake;  // bad: what was read and what would be right
};

// Reads a header from the beginning of what has come. Extensions (TLVs) are skipped.
ProxyHeader parse_proxy_header(std::string_view in);

}  // namespace suimon::net
