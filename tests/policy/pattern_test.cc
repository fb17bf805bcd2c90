#include "suimon/policy/pattern.h"

#include <gtest/gtest.h>

#include <random>

namespace suimon {
namespace {

std::string normal(std::string_view target) {
  std::string out;
  return normalize_path(target, out) ? out : "undecodable";
}

TEST(Glob, StarStandsForAnyCharacters) {
  EXPECT_TRUE(glob_matches("GET", "GET"));
  EXPECT_FALSE(glob_matches("GET", "get"));
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("a*c*e", "abcde"));
  EXPECT_TRUE(glob_matches("a*", "a"));
  EXPECT_FALSE(glob_matches("a*b", "a"));
  EXPECT_TRUE(glob_matches("*ab", "aab"));
  EXPECT_FALSE(glob_matches("", "x"));
}

TEST(Path, IsComparedWithoutQueryDotsAndDoubleSlashes) {
  EXPECT_EQ(normal("/v1/items?page=2"), "/v1/items");
  EXPECT_EQ(normal("/v1//items///x"), "/v1/items/x");
  EXPECT_EQ(normal("/v1/./items/../payments"), "/v1/payments");
  EXPECT_EQ(normal("/../../etc"), "/etc");
  EXPECT_EQ(normal("/a/b/.."), "/a/");
  EXPECT_EQ(normal("/a/."), "/a/");
  EXPECT_EQ(normal("/"), "/");
  EXPECT_EQ(normal("//"), "/");
  EXPECT_EQ(normal("/v1/items/"), "/v1/items/");
}

TEST(Path, UnreservedEscapesAreDecodedAndOthersStay) {
  EXPECT_EQ(normal("/%76%31/p%61yments"), "/v1/payments");
  EXPECT_EQ(normal("/a%2fb"), "/a%2Fb");
  EXPECT_EQ(normal("/a%2e%2e/b"), "/a../b");
  EXPECT_EQ(normal("/%2e%2e/b"), "/b");
  EXPECT_EQ(normal("/caf%c3%a9"), "/caf%C3%A9");
}

TEST(Path, EachCharacterHasOneForm) {
  EXPECT_EQ(normal("/注文"), normal("/%E6%B3%A8%E6%96%87"));
  EXPECT_EQ(normal("/%40me/a%3Ab"), "/@me/a:b");
  EXPECT_EQ(normal("/a b|c"), "/a%20b%7Cc");
  EXPECT_EQ(normal("/a%2Ab;c%3Bd"), "/a%2Ab;c%3Bd");  // a pattern's star, a parameter's mark
}

TEST(Path, IsNoLongerThanATargetMayBe) {
  std::string out;
  EXPECT_TRUE(normalize_path("/" + std::string(8191, 'a'), out));
  EXPECT_FALSE(normalize_path("/" + std::string(8192, 'a'), out));
}

TEST(Host, IsComparedInLowerCaseWithoutPortAndFinalDot) {
  std::string out;
  const auto host = [&](std::string_view text) {
    normalize_host(text, out);
    return out;
  };
  EXPECT_EQ(host("API.Example.COM"), "api.example.com");
  EXPECT_EQ(host("api.example.com:443"), "api.example.com");
  EXPECT_EQ(host("api.example.com."), "api.example.com");
  EXPECT_EQ(host("api.example.com.:443"), "api.example.com");
  EXPECT_EQ(host("[2001:DB8::1]:80"), "[2001:db8::1]");
  EXPECT_EQ(host("2001:db8::1"), "2001:db8::1");
  EXPECT_EQ(host("*.Example.com"), "*.example.com");
  EXPECT_EQ(host(":80"), ":80");
  EXPECT_EQ(host("."), ".");
}

TEST(Path, WhatCannotBeDecodedIsRefused) {
  for (const char* bad : {"/%", "/%4", "/%zz", "/a\nb", "relative", "", "?x"}) {
    EXPECT_EQ(normal(bad), "undecodable") << bad;
  }
}

TEST(Path, AnAbsoluteTargetCountsByItsPath) {
  EXPECT_EQ(normal("http://host/v1/items?x"), "/v1/items");
  EXPECT_EQ(normal("http://host"), "/");
  EXPECT_EQ(normal("http://host?x"), "/");
  EXPECT_EQ(normal("*"), "*");
}

TEST(Path, NormalizingTwiceChangesNothing) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  constexpr std::string_view kPieces[] = {"/", ".", "..", "a", "%2e", "%2F", "%41", "b", "//", "?"};
  for (int i = 0; i < 20'000; ++i) {
    std::string path = "/";
    for (auto n = random() % 12; n > 0; --n) path += kPieces[random() % std::size(kPieces)];
    const std::string once = normal(path);
    EXPECT_EQ(normal(once), once) << path;
    EXPECT_EQ(once.find("/../"), std::string::npos) << path;
    EXPECT_EQ(once.find("//"), std::string::npos) << path;
  }
}

bool matches(std::string_view pattern, std::string_view target) {
  const auto made = PathPattern::make(pattern);
  EXPECT_TRUE(made) << pattern;
  return made->matches(normal(target));
}

TEST(PathPattern, StarStaysWithinASegment) {
  EXPECT_TRUE(matches("/v1/*/items", "/v1/shop/items"));
  EXPECT_FALSE(matches("/v1/*/items", "/v1/a/b/items"));
  EXPECT_TRUE(matches("/v1/order-*", "/v1/order-7"));
  EXPECT_FALSE(matches("/v1/order-*", "/v1/order-7/x"));
}

TEST(PathPattern, TwoStarsAreAnyNumberOfSegments) {
  EXPECT_TRUE(matches("/v1/orders/**", "/v1/orders"));
  EXPECT_TRUE(matches("/v1/orders/**", "/v1/orders/"));
  EXPECT_TRUE(matches("/v1/orders/**", "/v1/orders/1/items/2"));
  EXPECT_FALSE(matches("/v1/orders/**", "/v1/ordersx"));
  EXPECT_TRUE(matches("/**/items", "/a/b/items"));
  EXPECT_TRUE(matches("/**/items", "/items"));
  EXPECT_TRUE(matches("/**", "/"));
  EXPECT_TRUE(matches("/注文/**", "/%e6%b3%a8%E6%96%87/1"));
  EXPECT_TRUE(matches("/users/@me/**", "/users/%40me/x"));
  EXPECT_TRUE(matches("/a/**/b/**/c", "/a/x/b/y/b/z/c"));
  EXPECT_FALSE(matches("/a/**/b", "/a/b/c"));
}

TEST(PathPattern, CannotBeWalkedAround) {
  for (const char* trick :
       {"/v1/payments/../payments/x", "/v1//payments/x", "/%761/payments/x",
        "/v1/payments/x?y=/v1/items", "/v1/./payments/x", "/x/../v1/payments"}) {
    EXPECT_TRUE(matches("/v1/payments/**", trick)) << trick;
  }
  EXPECT_FALSE(matches("/v1/payments/**", "/V1/PAYMENTS/x"));
}

TEST(PathPattern, MistakesSayTheirCure) {
  for (const char* bad : {"v1", "", "/a**", "/**b", "/%zz", "/a?b"}) {
    EXPECT_FALSE(PathPattern::make(bad)) << bad;
  }
  EXPECT_NE(PathPattern::make("v1").error().text.find("must begin with /"), std::string::npos);
}

TEST(PathPattern, IsWrittenDownNormalized) {
  for (const char* text : {"/", "/**", "/v1/*/x", "/v1/**/x*y/", "/a%2Fb"}) {
    EXPECT_EQ(PathPattern::make(text)->text(), text);
  }
  EXPECT_EQ(PathPattern::make("/%761//x")->text(), "/v1/x");
}

}  // namespace
}  // namespace suimon
