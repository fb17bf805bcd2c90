// PROXY headers of both versions, as proxies write them and as nobody should.
#include "suimon/net/proxy_protocol.h"

#include <gtest/gtest.h>

#include <string>

namespace suimon::net {
namespace {

using Status = ProxyHeader::Status;

std::string binary(unsigned command, unsigned family, const std::string& rest,
                   std::size_t announced = std::string::npos) {
  const std::size_t length = announced == std::string::npos ? rest.size() : announced;
  std::string header("\r\n\r\n\0\r\nQUIT\n", 12);
  header += static_cast<char>(0x20 | command);
  header += static_cast<char>(family);
  header += static_cast<char>(length >> 8);
  header += static_cast<char>(length & 0xff);
  return header + rest;
}
const std::string kV4("\xcb\x00\x71\x09\xc0\x00\x02\x01\xdc\x04\x01\xbb", 12);

std::string client_of(std::string_view in) {
  const ProxyHeader header = parse_proxy_header(in);
  if (header.status == Status::need_more) return "more";
  if (header.status == Status::bad) return "bad";
  if (!header.client) return "the peer";
  for (const char* known : {"203.0.113.9", "2001:db8::9", "::1"}) {
    if (header.client == parse_address(known)) return known;
  }
  return "somebody";
}

TEST(ProxyProtocol, Version1NamesTheClient) {
  EXPECT_EQ(client_of("PROXY TCP4 203.0.113.9 192.0.2.1 56324 443\r\n"), "203.0.113.9");
  EXPECT_EQ(client_of("PROXY TCP6 2001:db8::9 2001:db8::1 1 65535\r\n"), "2001:db8::9");
  EXPECT_EQ(client_of("PROXY TCP6 ::ffff:203.0.113.9 ::1 1 2\r\n"), "203.0.113.9");
  EXPECT_EQ(client_of("PROXY TCP6 64:ff9b::203.0.113.9 ::1 1 2\r\n"), "203.0.113.9");  // NAT64
}

TEST(ProxyProtocol, Version2NamesTheClient) {
  EXPECT_EQ(client_of(binary(1, 0x11, kV4)), "203.0.113.9");
  const std::string v6 =
      std::string("\x20\x01\x0d\xb8", 4) + std::string(11, '\0') + "\x09" + std::string(20, 'x');
  EXPECT_EQ(client_of(binary(1, 0x21, v6)), "2001:db8::9");
  const std::string nat64 =
      std::string("\0\x64\xff\x9b\0\0\0\0\0\0\0\0\xcb\0\x71\x09", 16) + std::string(20, 'x');
  EXPECT_EQ(client_of(binary(1, 0x21, nat64)), "203.0.113.9");
  EXPECT_EQ(client_of(binary(1, 0x11, kV4 + std::string(2036, 'x'))), "203.0.113.9") << "TLVs";
}

TEST(ProxyProtocol, WhoSpeaksForItselfOrDoesNotKnowIsThePeer) {
  EXPECT_EQ(client_of("PROXY UNKNOWN\r\n"), "the peer");
  EXPECT_EQ(client_of("PROXY UNKNOWN ffff::1 anything 1 2\r\n"), "the peer");
  EXPECT_EQ(client_of(binary(0, 0x00, "")), "the peer");
  EXPECT_EQ(client_of(binary(0, 0x11, kV4)), "the peer") << "LOCAL";
  EXPECT_EQ(client_of(binary(1, 0x00, "")), "the peer");
  EXPECT_EQ(client_of(binary(1, 0x31, std::string(216, 'u'))), "the peer") << "a unix socket";
}

TEST(ProxyProtocol, WhatStandsBehindTheHeaderIsLeftAlone) {
  const std::string text = "PROXY TCP4 203.0.113.9 192.0.2.1 56324 443\r\n";
  EXPECT_EQ(parse_proxy_header(text + "GET /").length, text.size());
  EXPECT_EQ(parse_proxy_header(binary(1, 0x11, kV4) + "GET /").length, 28U);
}

TEST(ProxyProtocol, EveryBeginningOfAHeaderNeedsMore) {
  for (const std::string& whole : {std::string("PROXY TCP4 203.0.113.9 192.0.2.1 56324 443\r\n"),
                                   binary(1, 0x11, kV4 + "tlv"), binary(0, 0, "")}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_EQ(client_of(whole.substr(0, size)), "more") << size;
    }
    EXPECT_EQ(parse_proxy_header(whole).length, whole.size());
  }
}

TEST(ProxyProtocol, WhatIsNoHeaderIsSaidAtOnce) {
  for (const char* text : {"G",
                           "GET / HTTP/1.1\r\n",
                           "PROXX",
                           "proxy tcp4",
                           "\r\n\r\nX",
                           "\x16\x03\x01",
                           "PROXY \r\n",
                           "PROXY TCP4\r\n",
                           "PROXY TCP5 203.0.113.9 192.0.2.1 1 2\r\n",
                           "PROXY TCP4 203.0.113.9 192.0.2.1 1 2\n",
                           "PROXY TCP4  203.0.113.9 192.0.2.1 1 2\r\n",
                           "PROXY TCP4 203.0.113.9 192.0.2.1 1\r\n",
                           "PROXY TCP4 203.0.113.9 192.0.2.1 1 2 3\r\n",
                           "PROXY TCP4 203.0.113.9 192.0.2.1 65536 2\r\n",
                           "PROXY TCP4 203.0.113.9 192.0.2.1 01 2\r\n",
                           "PROXY TCP4 203.0.113.9:80 192.0.2.1 1 2\r\n",
                           "PROXY TCP4 2001:db8::9 2001:db8::1 1 2\r\n",
                           "PROXY TCP6 203.0.113.9 192.0.2.1 1 2\r\n",
                           "PROXY TCP6 [2001:db8::9] 2001:db8::1 1 2\r\n",
                           "PROXY TCP6 fe80::1%eth0 2001:db8::1 1 2\r\n"}) {
    EXPECT_EQ(client_of(text), "bad") << text;
  }
  EXPECT_EQ(client_of(binary(2, 0x11, kV4)), "bad") << "an unknown command";
  EXPECT_EQ(client_of(binary(1, 0x41, kV4)), "bad") << "an unknown family";
  EXPECT_EQ(client_of(binary(1, 0x13, kV4)), "bad") << "an unknown transport";
  EXPECT_EQ(client_of(binary(1, 0x11, kV4.substr(1))), "bad") << "too short for its addresses";
  EXPECT_EQ(client_of(binary(1, 0x21, kV4)), "bad");
  std::string third = binary(1, 0x11, kV4);
  third[12] = 0x31;
  EXPECT_EQ(client_of(third), "bad") << "version 3";
}

TEST(ProxyProtocol, ALengthBeyondTheBoundIsRefusedBeforeItComes) {
  EXPECT_EQ(client_of(binary(1, 0x11, "", 2048)), "more");
  EXPECT_EQ(client_of(binary(1, 0x11, "", 2049)), "bad");
  EXPECT_EQ(client_of(binary(0, 0x00, "", 65535)), "bad");
  EXPECT_EQ(client_of("PROXY UNKNOWN " + std::string(92, 'x')), "more");  // 106 bytes
  EXPECT_EQ(client_of("PROXY UNKNOWN " + std::string(91, 'x') + "\r\n"), "the peer");
  EXPECT_EQ(client_of("PROXY UNKNOWN " + std::string(93, 'x')), "bad");
}

}  // namespace
}  // namespace suimon::net
