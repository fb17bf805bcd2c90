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

ClientIpRule forwarded() {
  ClientIpRule rule;
  rule.from = ClientIpRule::From::forwarded;
  rule.trusted_proxies = {*parse_range("10.0.0.0/8"), *parse_range("2001:db8:c::/48")};
  return rule;
}

TEST(Forwarded, C25a_AForgedPrefixNeverChangesWhoIsCounted) {
  ClientIpRule hops = forwarded();
  hops.trusted_hops = 1;
  for (const ClientIpRule& rule : {forwarded(), hops}) {
    for (const char* forged :
         {"for=1.1.1.1", "for=\"1.1.1.1", "for=\"", "\"", "\\", "for=\"a\\", "for=\"a\\\"", ";;;",
          "for=1.1.1.1;", "for=\"[2001:db8:c::1]\"", "for=10.0.0.9", ",", "x", "for=\"1.1.1.1, "}) {
      EXPECT_EQ(client(rule, "10.0.0.1", std::string(forged) + ", for=7.7.7.7"), "7.7.7.7")
          << forged;
      EXPECT_EQ(client(rule, "10.0.0.1", std::string(forged) + ",for=\"[2001:db8::1]:443\";by=_b"),
                "2001:db8::/64")
          << forged;
    }
  }
}

TEST(Forwarded, ACommaWithinQuotesSeparatesNothing) {
  const ClientIpRule rule = forwarded();
  for (const char* appended : {R"(by="x,y";for=7.7.7.7)", R"(by="x\",y";for=7.7.7.7)",
                               R"(for=7.7.7.7;by="\\\",\\")", R"(for=7.7.7.7;by=",,\"")"}) {
    for (const char* forged : {"for=1.1.1.1, ", "for=\"1.1.1.1, ", "\\\",", ""}) {
      EXPECT_EQ(client(rule, "10.0.0.1", std::string(forged) + appended), "7.7.7.7")
          << forged << appended;
    }
  }
}

TEST(Forwarded, IsCountedFromTheRightLikeXForwardedFor) {
  const ClientIpRule rule = forwarded();
  EXPECT_EQ(client(rule, "10.0.0.1", "for=1.1.1.1, for=7.7.7.7, for=10.2.3.4"), "7.7.7.7");
  EXPECT_EQ(client(rule, "10.0.0.1", "for=7.7.7.7, for=\"[2001:db8:c::5]\""), "7.7.7.7");
  EXPECT_EQ(client(rule, "10.0.0.1", "for=10.9.9.9, for=10.2.3.4"), "10.9.9.9");
  EXPECT_EQ(client(rule, "203.0.113.5", "for=7.7.7.7"), "203.0.113.5") << "a stranger";
  EXPECT_EQ(client(rule, "10.0.0.1", ""), "10.0.0.1");
  ClientIpRule hops = forwarded();
  hops.trusted_hops = 2;
  EXPECT_EQ(client(hops, "10.0.0.1", "for=7.7.7.7"), "10.0.0.1") << "too short";
  EXPECT_EQ(client(hops, "10.0.0.1", "for=1.1.1.1, for=7.7.7.7, for=10.0.0.2"), "7.7.7.7");
}

TEST(Forwarded, EveryFormOfAnAddressIsRead) {
  const ClientIpRule rule = forwarded();
  for (const char* element :
       {"for=7.7.7.7", "For=7.7.7.7", "for=\"7.7.7.7\"", "for=\"7.7.7.7:4711\"", "for=7.7.7.7:4711",
        "for=\"7.7.7.7:_port\"", "for=7.7.7.7;proto=https;by=203.0.113.43",
        "proto=https; by=\"_x,y;z\" ; for=7.7.7.7", ";for=7.7.7.7;", "for=\"7\\.7.7\\.7\"",
        "by=\"\\\"\";for=7.7.7.7", "for=\"[::ffff:7.7.7.7]\"", "for=\"[64:ff9b::7.7.7.7]:1\""}) {
    EXPECT_EQ(client(rule, "10.0.0.1", element), "7.7.7.7") << element;
  }
  for (const char* element : {"for=\"[2001:db8::17]\"", "for=\"[2001:db8::17]:4711\"",
                              "for=\"[2001:db8::17]:_p\"", "for=[2001:db8::17]"}) {
    EXPECT_EQ(client(rule, "10.0.0.1", element), "2001:db8::/64") << element;
  }
}

TEST(Forwarded, WhatIsHiddenOrBrokenEndsTheWalk) {
  const ClientIpRule rule = forwarded();
  for (const char* element :
       {"for=unknown", "for=\"_gazonk\"", "for=_hidden:80", "for=", "for", "proto=https", "",
        "for=7.7.7.7 x", "for=7.7.7.7;for=8.8.8.8", "for =7.7.7.7", "for=\"7.7.7.7", "=7.7.7.7",
        "for=\"2001:db8::17\"", "for=2001:db8::17", "for=\"7.7.7.7:_\"", "for=7.7.7.7:99999",
        "for=\"7.7.7.7\"x", "for=\"[7.7.7.7]\""}) {
    EXPECT_EQ(client(rule, "10.0.0.1", "for=1.1.1.1, " + std::string(element) + ", for=10.2.3.4"),
              "10.2.3.4")
        << element;
  }
  const std::string long_node = "for=\"" + std::string(9000, '1') + "\"";
  EXPECT_EQ(client(rule, "10.0.0.1", "for=1.1.1.1, " + long_node + ", for=10.2.3.4"), "10.2.3.4");
}

TEST(ClientIp, WhomThePROXYHeaderNamedIsTheClientIfThePeerIsBelieved) {
  ClientIpRule rule;
  rule.from = ClientIpRule::From::proxy_protocol;
  rule.trusted_proxies = {*parse_range("10.0.0.0/8")};
  const auto named = parse_address("7.7.7.7");
  const auto proxy = parse_address("10.0.0.1");
  const auto stranger = parse_address("203.0.113.5");
  EXPECT_EQ(rule.client(proxy, "", named), named);
  EXPECT_EQ(rule.client(proxy, "8.8.8.8", std::nullopt), proxy) << "LOCAL";
  EXPECT_EQ(rule.client(stranger, "", named), stranger);
  EXPECT_EQ(rule.client(std::nullopt, "", named), named) << "a unix socket";
  rule.from = ClientIpRule::From::forwarded_for;
  EXPECT_EQ(rule.client(proxy, "8.8.8.8", named), parse_address("8.8.8.8"));
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
