#include "suimon/base/text.h"

#include <gtest/gtest.h>

#include "suimon/base/pool.h"

namespace suimon {
namespace {

TEST(Text, OnlyAsciiLettersHaveACase) {
  EXPECT_EQ(ascii_lower("AZaz@[\xc4"), "azaz@[\xc4");
  EXPECT_TRUE(equal_ignoring_case("Host", "hOST"));
  EXPECT_FALSE(equal_ignoring_case("Host", "Hosts"));
  EXPECT_FALSE(equal_ignoring_case("@", "`"));
}

TEST(Text, BlanksAreTrimmedAtBothEndsOnly) {
  EXPECT_EQ(trimmed(" \ta b\t "), "a b");
  EXPECT_EQ(trimmed(" \t"), "");
  EXPECT_EQ(trimmed("\na"), "\na");
}

TEST(Pool, WhatIsGivenBackIsTakenAgain) {
  Pool<int> pool;
  int& one = pool.take();
  int& two = pool.take();
  EXPECT_NE(&one, &two);
  pool.give_back(two);
  EXPECT_EQ(&pool.take(), &two);
}

}  // namespace
}  // namespace suimon
