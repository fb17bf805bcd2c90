#include "suimon/door/admin_tokens.h"

#include <gtest/gtest.h>

namespace suimon::door {
namespace {

constexpr std::string_view kFile =
    "# who may\n"
    "deploy:0123456789abcdef0123\n"
    "\n"
    "  fedcba9876543210+/~_.-==\r\n";

std::string mistake(std::string_view text) {
  const auto tokens = AdminTokens::parse(text);
  return tokens ? "" : tokens.error().text;
}

TEST(AdminTokens, ATokenNamesItsOwner) {
  const auto tokens = AdminTokens::parse(kFile);
  ASSERT_TRUE(tokens) << tokens.error().text;
  EXPECT_EQ(tokens->who("0123456789abcdef0123"), "deploy");
  EXPECT_EQ(tokens->who("fedcba9876543210+/~_.-=="), "line-4");
}

TEST(AdminTokens, WhatIsNotQuiteATokenIsNone) {
  const auto tokens = AdminTokens::parse(kFile);
  ASSERT_TRUE(tokens);
  for (const std::string_view token :
       {"", "deploy", "deploy:0123456789abcdef0123", "0123456789abcdef012", "0123456789abcdef01233",
        "0123456789ABCDEF0123", "0123456789abcdef0124", "# who may"}) {
    EXPECT_EQ(tokens->who(token), std::nullopt) << token;
  }
  EXPECT_EQ(AdminTokens().who(""), std::nullopt);
}

TEST(AdminTokens, AMistakeIsNamedByItsLineAndNeverShowsAToken) {
  EXPECT_NE(mistake("").find("no token"), std::string::npos);
  EXPECT_NE(mistake("# nobody\n\n").find("no token"), std::string::npos);
  EXPECT_NE(mistake("\nshort-token\n").find("line 2: a token is 16 to 512"), std::string::npos);
  EXPECT_NE(mistake("a b:0123456789abcdef").find("line 1: the name"), std::string::npos);
  EXPECT_NE(mistake("a:0123456789abcdef\nb:0123456789abcdef").find("line 2: this token"),
            std::string::npos);
  for (const std::string_view secret :
       {"0123456789 abcdef", "0123456789=abcdefg", "0123456789\"abcdef"}) {
    EXPECT_NE(mistake(secret).find("line 1"), std::string::npos) << secret;
    EXPECT_EQ(mistake(secret).find("0123456789"), std::string::npos) << secret;
  }
  std::string many;
  for (int i = 100; i < 165; ++i) many += "0123456789abcdef" + std::to_string(i) + "\n";
  EXPECT_NE(mistake(many).find("line 65: 64 tokens are the most"), std::string::npos);
}

}  // namespace
}  // namespace suimon::door
