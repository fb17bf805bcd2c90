#include "suimon/base/address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/timeline.h"

namespace suimon {
namespace {

using Bytes = std::array<std::uint8_t, 16>;

Address v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return {Bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}};
}

TEST(AddressTest, ReadsEveryWayInWhichDoorsMeetAnAddress) {
  const Address four = v4(203, 0, 113, 9);
  for (const char* text :
       {"203.0.113.9", "203.0.113.9:443", "::ffff:203.0.113.9", "[::ffff:203.0.113.9]:443",
        "::FFFF:cb00:7109", "64:ff9b::203.0.113.9", "[64:ff9b::cb00:7109]:1"}) {
    EXPECT_EQ(parse_address(text), four) << text;
    EXPECT_TRUE(parse_address(text)->is_v4()) << text;
  }
  const Address six{Bytes{0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0xa}};
  for (const char* text : {"2001:db8:1:2::a", "2001:DB8:1:2:0:0:0:A", "[2001:db8:1:2::a]",
                           "[2001:db8:1:2::a]:65535", "2001:db8:1:2::a%eth0"}) {
    EXPECT_EQ(parse_address(text), six) << text;
    EXPECT_FALSE(parse_address(text)->is_v4()) << text;
  }
}

TEST(AddressTest, AnythingElseIsNoAddress) {
  for (const std::string_view text :
       {std::string_view(""),
        std::string_view(" 1.2.3.4"),
        std::string_view("1.2.3.4 "),
        std::string_view("1.2.3"),
        std::string_view("1.2.3.256"),
        std::string_view("1.2.3.4:"),
        std::string_view("1.2.3.4:65536"),
        std::string_view("1.2.3.4:-1"),
        std::string_view("1.2.3.4:+1"),
        std::string_view("1.2.3.4:8x"),
        std::string_view("01.2.3.4"),
        std::string_view("unknown"),
        std::string_view("_hidden"),
        std::string_view("a.a.a.a"),
        std::string_view("["),
        std::string_view("[]"),
        std::string_view("[::1"),
        std::string_view("[::1]80"),
        std::string_view("[::1]:"),
        std::string_view("[1.2.3.4]"),
        std::string_view(":::"),
        std::string_view("1::2::3"),
        std::string_view("::1%"),
        std::string_view("1:2:3:4:5:6:7:8:9"),
        std::string_view(":80"),
        std::string_view("1.2.3.4\0x", 9),
        std::string_view("::1\0", 4),
        std::string_view("::1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20:21:22")}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
}

TEST(AddressTest, KnowsTheLoopback) {
  EXPECT_TRUE(parse_address("127.0.0.1")->is_loopback());
  EXPECT_TRUE(parse_address("127.255.0.3")->is_loopback());
  EXPECT_TRUE(parse_address("::1")->is_loopback());
  EXPECT_TRUE(parse_address("::ffff:127.0.0.1")->is_loopback());
  EXPECT_FALSE(parse_address("128.0.0.1")->is_loopback());
  EXPECT_FALSE(parse_address("::2")->is_loopback());
  EXPECT_FALSE(parse_address("::")->is_loopback());
}

TEST(AddressTest, AgreesWithTheSystemOnRandomText) {
  test::Dice dice(40);
  const std::string alphabet = "0123456789abcdef::::..1";
  for (int i = 0; i < 50'000; ++i) {
    std::string text;
    for (std::uint64_t n = dice.uniform(1, 18); n > 0; --n) {
      text += alphabet[dice.uniform(0, alphabet.size() - 1)];
    }
    Bytes bytes{};
    const bool six = ::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
    std::array<std::uint8_t, 4> four{};
    if (six) {
      ASSERT_TRUE(parse_address(text)) << text;
    } else if (::inet_pton(AF_INET, text.c_str(), four.data()) == 1) {
      ASSERT_EQ(parse_address(text), v4(four[0], four[1], four[2], four[3])) << text;
    }
  }
}

TEST(AddressRangeTest, HoldsWhatSharesItsPrefix) {
  struct Case {
    const char* range;
    const char* address;
    bool inside;
  };
  for (const Case& c : {Case{"10.0.0.0/8", "10.255.0.1", true},
                        {"10.0.0.0/8", "11.0.0.0", false},
                        {"10.0.0.0/8", "::ffff:10.1.2.3", true},
                        {"172.16.0.0/12", "172.31.255.255", true},
                        {"172.16.0.0/12", "172.32.0.0", false},
                        {"192.0.2.7", "192.0.2.7", true},
                        {"192.0.2.7", "192.0.2.6", false},
                        {"192.0.2.7/32", "192.0.2.7", true},
                        {"0.0.0.0/0", "203.0.113.9", true},
                        {"0.0.0.0/0", "2001:db8::1", false},
                        {"::/0", "203.0.113.9", true},
                        {"::/0", "2001:db8::1", true},
                        {"2001:db8::/33", "2001:db8:7fff::1", true},
                        {"2001:db8::/33", "2001:db8:8000::1", false},
                        {"::1", "::1", true},
                        {"2001:db8::/127", "2001:db8::1", true},
                        {"2001:db8::/127", "2001:db8::2", false}}) {
    const auto range = parse_range(c.range);
    ASSERT_TRUE(range) << range.error().text;
    EXPECT_EQ(range->contains(*parse_address(c.address)), c.inside) << c.range << " " << c.address;
  }
}

TEST(AddressRangeTest, MistakesSayWhatWasReadAndWhatWouldBeRight) {
  const auto why = [](std::string_view text) {
    const auto range = parse_range(text);
    return range ? std::string("accepted") : range.error().text;
  };
  for (const char* text : {"", "/8", "nobody", "10.0.0/8", "10.0.0.0:80/8", "[::1]/8"}) {
    EXPECT_NE(why(text).find("write 10.0.0.0/8"), std::string::npos) << text << ": " << why(text);
  }
  for (const char* text : {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8"}) {
    EXPECT_NE(why(text).find("from 0 to 32"), std::string::npos) << text << ": " << why(text);
  }
  EXPECT_NE(why("2001:db8::/129").find("from 0 to 128"), std::string::npos);
  EXPECT_NE(why("10.0.0.1/8").find("beyond its prefix"), std::string::npos);
  EXPECT_NE(why("10.0.0.1/8").find("\"10.0.0.1/8\""), std::string::npos);
  EXPECT_NE(why("2001:db8::1/64").find("beyond its prefix"), std::string::npos);
}

TEST(AddressRange, WithinNat64IsTheRangeOfTheAddressesInside) {
  EXPECT_TRUE(parse_range("64:ff9b::10.0.0.0/104")->contains(*parse_address("10.1.2.3")));
  EXPECT_TRUE(parse_range("64:ff9b::/96")->contains(*parse_address("64:ff9b::192.0.2.1")));
  EXPECT_FALSE(parse_range("64:ff9b::10.0.0.0/104")->contains(*parse_address("11.1.2.3")));
  EXPECT_EQ(unwrapped(parse_range("2001:db8::1")->base), parse_range("2001:db8::1")->base);
}

}  // namespace
}  // namespace suimon
