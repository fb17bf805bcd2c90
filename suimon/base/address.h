// IP addresses and ranges of them.
//
// Thread rule: values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "suimon/result.h"

namespace suimon {

// An address as 16 bytes; IPv4 stands as IPv4-mapped IPv6 (RFC 4291 section 2.5.5.2).
struct Address {
  std::array<std::uint8_t, 16> bytes{};

  bool is_v4() const;
  bool is_loopback() const;  // 127.0.0.0/8 or ::1
  friend bool operator==(const Address&, const Address&) = default;
};

// An address of the NAT64 prefix 64:ff9b::/96 (RFC 6052) as the IPv4 address inside; any other as
// it is.
Address unwrapped(const Address& address);

// Reads "203.0.113.9", "2001:db8::1", "[2001:db8::1]", each with an optional port, and a zone
// ("fe80::1%eth0", dropped). IPv4-mapped addresses and those of the NAT64 prefix 64:ff9b::/96
// (RFC 6052) are the IPv4 address inside. Nothing for anything else.
std::optional<Address> parse_address(std::string_view text);

struct AddressRange {
  Address base;
  unsigned bits = 128;  // of the 16-byte form

  bool contains(const Address& address) const;
  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};

// Reads "10.0.0.0/8", "2001:db8::/32" or a single address. Bits beyond the prefix must be 0. A
// range within the NAT64 prefix is the range of IPv4 addresses inside.
Result<AddressRange> parse_range(std::string_view text);

}  // namespace suimon
