#include "suimon/net/proxy_protocol.h"

#include <algorithm>
#include <array>

namespace suimon::net {
namespace {

using Status = ProxyHeader::Status;

constexpr std::string_view kText = "PROXY ";
constexpr std::string_view kBinary("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::size_t kFixedBytes = 16;  // of version 2: signature, version, family, length

ProxyHeader bad(std::string_view mistake) { return {Status::bad, 0, std::nullopt, mistake}; }

// Takes the word before the next space off `line`; exactly one space stands between words.
std::string_view pop_word(std::string_view& line) {
  const auto space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  line = space == std::string_view::npos ? std::string_view{} : line.substr(space + 1);
  return word;
}

bool is_port(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text.size() > 1 && text.front() == '0')) return false;
  unsigned port = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    port = port * 10 + static_cast<unsigned>(c - '0');
  }
  return port <= 65535;
}

// A bare address of the family that the header names: no port, brackets or zone.
std::optional<Address> bare_address(std::string_view text, bool v4) {
  const bool has_colon = text.find(':') != std::string_view::npos;
  if (has_colon == v4 || text.find_first_of("[]%") != std::string_view::npos) return std::nullopt;
  return parse_address(text);
}

// "PROXY TCP4 203.0.113.9 192.0.2.1 56324 443\r\n"
ProxyHeader parse_text(std::string_view in) {
  constexpr std::string_view kExample =
      "the PROXY header is no line of version 1 such as PROXY TCP4 203.0.113.9 192.0.2.1 56324 443";
  const auto end = in.substr(0, ProxyHeader::kMostTextBytes).find('\n');
  if (end == std::string_view::npos) {
    if (in.size() >= ProxyHeader::kMostTextBytes) {
      return bad("the PROXY header has no end within 107 bytes");
    }
    return {};
  }
  if (in[end - 1] != '\r') return bad("the PROXY header ends without a carriage return");
  std::string_view line = in.substr(kText.size(), end - 1 - kText.size());
  const std::string_view family = pop_word(line);
  ProxyHeader header{Status::good, end + 1, std::nullopt, {}};
  if (family == "UNKNOWN") return header;
  const bool v4 = family == "TCP4";
  if (!v4 && family != "TCP6") return bad(kExample);
  const auto source = bare_address(pop_word(line), v4);
  const auto destination = bare_address(pop_word(line), v4);
  const std::string_view source_port = pop_word(line);
  if (!source || !destination || !is_port(source_port) || !is_port(line)) return bad(kExample);
  header.client = source;
  return header;
}

ProxyHeader parse_binary(std::string_view in) {
  if (in.size() < kFixedBytes) return {};
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(in[at]); };
  const unsigned version = byte(12) >> 4;
  const unsigned command = byte(12) & 15;
  const unsigned family = byte(13) >> 4;     // 0 unspecified, 1 IPv4, 2 IPv6, 3 unix
  const unsigned transport = byte(13) & 15;  // 0 unspecified, 1 stream, 2 datagram
  const std::size_t length = kFixedBytes + (std::size_t{byte(14)} << 8) + byte(15);
  if (version != 2) return bad("the PROXY header has a version that is not 1 or 2");
  if (command > 1) return bad("the PROXY header has a command that is not LOCAL or PROXY");
  if (family > 3 || transport > 2) return bad("the PROXY header has an unknown address family");
  if (length > ProxyHeader::kMostBytes) return bad("the PROXY header is longer than 2,064 bytes");
  if (in.size() < length) return {};
  ProxyHeader header{Status::good, length, std::nullopt, {}};
  const bool local = command == 0;
  if (local || transport != 1 || family == 0 || family == 3) return header;
  const std::size_t size = family == 1 ? 4 : 16;
  // Two addresses and two ports.
  if (length < kFixedBytes + 2 * size + 4) {
    return bad("the PROXY header is too short for the addresses that it announces");
  }
  Address client;
  if (size == 4) client.bytes[10] = client.bytes[11] = 0xff;
  const std::string_view source = in.substr(kFixedBytes, size);
  std::transform(source.begin(), source.end(), client.bytes.end() - static_cast<int>(size),
                 [](char c) { return static_cast<std::uint8_t>(c); });
  header.client = unwrapped(client);
  return header;
}

}  // namespace

ProxyHeader parse_proxy_header(std::string_view in) {
  const auto begins = [&](std::string_view signature) {
    return in.starts_with(signature.substr(0, in.size()));
  };
  if (begins(kBinary)) return parse_binary(in);
  if (!begins(kText)) return bad("the connection must begin with a PROXY header, and does not");
  return in.size() < kText.size() ? ProxyHeader{} : parse_text(in);
}

}  // namespace suimon::net
