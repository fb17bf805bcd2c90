#include "suimon/core/key_text.h"

#include <gtest/gtest.h>

namespace suimon {
namespace {

TEST(KeyText, IsReadAsItWasWritten) {
  for (const Key key : {Key{}, Key{1, 0}, Key{0, 1}, Key{~0ULL, ~0ULL},
                        Key{0x0011223344556677, 0x8899aabbccddeeff}}) {
    EXPECT_EQ(parse_key_text(key_text(key)), key);
  }
  EXPECT_EQ(key_text({0x0011223344556677, 0x8899aabbccddeeff}), "00112233445566778899aabbccddeeff");
}

TEST(KeyText, CapitalDigitsAreTheSame) {
  EXPECT_EQ(parse_key_text("00112233445566778899AABBCCDDEEFF"),
            (Key{0x0011223344556677, 0x8899aabbccddeeff}));
}

TEST(KeyText, WhatIsNo32DigitsIsNoKey) {
  for (const std::string_view text :
       {"", "0", "00112233445566778899aabbccddeef", "00112233445566778899aabbccddeeff0",
        "00112233445566778899aabbccddeefg", "0011223344556677 899aabbccddeeff",
        "-0112233445566778899aabbccddeeff", "0x112233445566778899aabbccddeeff"}) {
    EXPECT_EQ(parse_key_text(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace suimon
