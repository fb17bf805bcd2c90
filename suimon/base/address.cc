#include "suimon/base/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "suimon/base/text.h"

namespace suimon {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::array<std::uint8_t, 12> kNat64 = {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0};

bool is_port(std::string_view text) { return parse_number<std::uint16_t>(text).has_value(); }

// inet_pton wants a terminated string; nothing longer than this is an address.
bool read(int family, std::string_view text, void* out) {
  char buffer[INET6_ADDRSTRLEN];
  if (text.empty() || text.size() >= sizeof buffer) return false;
  if (text.find('\0') != std::string_view::npos) return false;  // it would end the text early
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
  return ::inet_pton(family, buffer, out) == 1;
}

bool read_v4(std::string_view text, Address& address) {
  std::copy(kMapped.begin(), kMapped.end(), address.bytes.begin());
  return read(AF_INET, text, address.bytes.data() + kMapped.size());
}

bool read_v6(std::string_view text, Address& address) {
  const auto zone = text.find('%');
  if (zone != std::string_view::npos && zone + 1 == text.size()) return false;
  if (!read(AF_INET6, text.substr(0, zone), address.bytes.data())) return false;
  address = unwrapped(address);
  return true;
}

}  // namespace

Address unwrapped(const Address& address) {
  if (!std::equal(kNat64.begin(), kNat64.end(), address.bytes.begin())) return address;
  Address inside = address;
  std::copy(kMapped.begin(), kMapped.end(), inside.bytes.begin());
  return inside;
}

bool Address::is_v4() const { return std::equal(kMapped.begin(), kMapped.end(), bytes.begin()); }

bool Address::is_loopback() const {
  if (is_v4()) return bytes[12] == 127;
  return bytes[15] == 1 &&
         std::all_of(bytes.begin(), bytes.end() - 1, [](auto b) { return b == 0; });
}

std::optional<Address> parse_address(std::string_view text) {
  Address address;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && !(rest.front() == ':' && is_port(rest.substr(1)))) return std::nullopt;
    if (!read_v6(text.substr(1, end - 1), address)) return std::nullopt;
    return address;
  }
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || text.find(':', colon + 1) == std::string_view::npos) {
    if (colon != std::string_view::npos) {
      if (!is_port(text.substr(colon + 1))) return std::nullopt;
      text = text.substr(0, colon);
    }
    if (!read_v4(text, address)) return std::nullopt;
    return address;
  }
  if (!read_v6(text, address)) return std::nullopt;
  return address;
}

bool AddressRange::contains(const Address& address) const {
  const unsigned whole = bits / 8;
  if (!std::equal(base.bytes.begin(), base.bytes.begin() + whole, address.bytes.begin())) {
    return false;
  }
  if (bits % 8 == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff00U >> (bits % 8));
  return ((base.bytes[whole] ^ address.bytes[whole]) & mask) == 0;
}

Result<AddressRange> parse_range(std::string_view text) {
  const std::string quoted = "\"" + std::string(text) + "\"";
  const auto slash = text.find('/');
  const std::string_view host = text.substr(0, slash);
  Address address;
  const bool is_v6 = host.find(':') != std::string_view::npos;
  if (is_v6 ? !read(AF_INET6, host, address.bytes.data()) : !read_v4(host, address)) {
    return failure(quoted + " is no address range; write 10.0.0.0/8, 2001:db8::/32 or one address");
  }
  AddressRange range{address, 128};
  if (slash != std::string_view::npos) {
    const unsigned most = is_v6 ? 128 : 32;
    const auto bits = parse_number<unsigned>(text.substr(slash + 1));
    if (!bits || *bits > most) {
      return failure(quoted + ": the prefix length must be from 0 to " + std::to_string(most));
    }
    range.bits = is_v6 ? *bits : *bits + 96;
  }
  for (unsigned bit = range.bits; bit < 128; ++bit) {
    if ((address.bytes[bit / 8] >> (7 - bit % 8) & 1) != 0) {
      return failure(quoted + " has bits beyond its prefix; write the first address of the range");
    }
  }
  if (range.bits >= 96) range.base = unwrapped(range.base);
  return range;
}

}  // namespace suimon
