#include "suimon/policy/client_ip.h"

#include <gtest/gtest.h>

namespace suimon {
namespace {

std::string client(const ClientIpRule& rule, std::string_view peer, std::string_view header) {
  const auto found = rule.client(parse_address(peer), header);
  std::array<char, 64> buffer;
  return found ? std::string(client_text(*found, rule.ipv6_prefix, buffer)) : "none";
}

std::string key(std::string_view address, unsigned prefix = 64) {
  std::array<char, 64> buffer;
  return std::string(client_text(*parse_address(address), prefix, buffer));
}

TEST(ClientText, C23_ClientsRotatingInsideTheirPrefixAreOne) {
  EXPECT_EQ(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::9"));
  EXPECT_EQ(key("2001:db8:1:2::1"), key("2001:DB8:1:2:0:0:0:A"));
  EXPECT_NE(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
  EXPECT_NE(key("192.0.2.7"), key("192.0.2.8"));
  EXPECT_EQ(key("2001:db8:1:2::1"), "2001:db8:1:2::/64");
}

TEST(ClientText, C23_PrefixLengthIsConfigurable) {
  EXPECT_EQ(key("2001:db8:1:2ff::1", 48), "2001:db8:1::/48");
  EXPECT_EQ(key("2001:db8:1:2ff::1", 56), "2001:db8:1:200::/56");
  EXPECT_EQ(key("2001:db8:1:2ff::1", 128), "2001:db8:1:2ff::1");
}

TEST(ClientText, TheSameIPv4HostInEveryFormIsOneClient) {
  EXPECT_EQ(key("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(key("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(key("192.0.2.7:4711"), "192.0.2.7");
  EXPECT_EQ(key("64:ff9b::192.0.2.7"), "192.0.2.7");  // NAT64
}

TEST(ClientIp, C25a_OneHopCountsOnWhatOurProxySaw) {
  ClientIpRule rule;
  rule.trusted_hops = 1;
  EXPECT_EQ(client(rule, "10.0.0.1", "a.a.a.a, 7.7.7.7"), "7.7.7.7");
  EXPECT_EQ(client(rule, "10.0.0.1", "b.b.b.b, 7.7.7.7"), "7.7.7.7");
  EXPECT_EQ(client(rule, "10.0.0.1", "c.c.c.c, 7.7.7.7"), "7.7.7.7");
}

TEST(ClientIp, C25a_AbsentOrTooShortIsThePeer) {
  ClientIpRule rule;
  rule.trusted_hops = 2;
  EXPECT_EQ(client(rule, "10.0.0.1", ""), "10.0.0.1");
  EXPECT_EQ(client(rule, "10.0.0.1", "7.7.7.7"), "10.0.0.1");
  EXPECT_EQ(client(rule, "10.0.0.1", "7.7.7.7, 10.0.0.2"), "7.7.7.7");
}

TEST(ClientIp, RangesAreCountedFromTheRight) {
  ClientIpRule rule;
  rule.trusted_proxies = {*parse_range("10.0.0.0/8"), *parse_range("2001:db8:c::/48")};
  EXPECT_EQ(client(rule, "10.0.0.1", "1.1.1.1, 7.7.7.7, 10.2.3.4"), "7.7.7.7");
  EXPECT_EQ(client(rule, "10.0.0.1", "7.7.7.7, 2001:db8:c::5"), "7.7.7.7");
  EXPECT_EQ(client(rule, "10.0.0.1", "10.9.9.9, 10.2.3.4"), "10.9.9.9");  // all are ours
}

TEST(ClientIp, AStrangersHeaderIsNotBelieved) {
  const ClientIpRule rule;
  EXPECT_EQ(client(rule, "203.0.113.5", "7.7.7.7"), "203.0.113.5");
  EXPECT_EQ(client(rule, "127.0.0.1", "7.7.7.7"), "7.7.7.7");
  EXPECT_EQ(client(rule, "::1", "7.7.7.7"), "7.7.7.7");
  ClientIpRule nobody;
  nobody.trust_local = false;
  EXPECT_EQ(client(nobody, "127.0.0.1", "7.7.7.7"), "127.0.0.1");
}

TEST(ClientIp, AUnixSocketIsLocal) {
  const ClientIpRule rule;
  const auto found = rule.client(std::nullopt, "7.7.7.7");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, *parse_address("7.7.7.7"));
  EXPECT_FALSE(rule.client(std::nullopt, ""));
}

TEST(ClientIp, WhatIsNoAddressEndsTheWalk) {
  ClientIpRule rule;
  rule.trusted_proxies = {*parse_range("10.0.0.0/8")};
  EXPECT_EQ(client(rule, "10.0.0.1", "7.7.7.7, unknown, 10.2.3.4"), "10.2.3.4");
  EXPECT_EQ(client(rule, "10.0.0.1", "7.7.7.7,,"), "10.0.0.1");
  EXPECT_EQ(client(rule, "10.0.0.1", "\"; drop table"), "10.0.0.1");
}

TEST(ClientIp, AHeaderWithOneAddressIsTakenAsItIs) {
  ClientIpRule rule;
  rule.from = ClientIpRule::From::header;
  EXPECT_EQ(client(rule, "127.0.0.1", " 7.7.7.7 "), "7.7.7.7");
  EXPECT_EQ(client(rule, "127.0.0.1", "7.7.7.7, 8.8.8.8"), "127.0.0.1");
  rule.from = ClientIpRule::From::peer;
  EXPECT_EQ(client(rule, "127.0.0.1", "7.7.7.7"), "127.0.0.1");
}

}  // namespace
}  // namespace suimon
