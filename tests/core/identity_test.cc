// Keys of clients: injective, secret, and apart by limit.

#include "suimon/core/identity.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/timeline.h"

namespace suimon {
namespace {

std::string encoded(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) append_part(text, part);
  return text;
}

TEST(Identity, C27_KeyAndValueDoNotRunTogether) {
  EXPECT_NE(encoded({"aa", "b"}), encoded({"a", "ab"}));
  EXPECT_NE(encoded({"a", "b"}), encoded({"a_b"}));
  EXPECT_NE(encoded({"", "a"}), encoded({"a", ""}));
  EXPECT_NE(encoded({}), encoded({""}));
}

TEST(Identity, C27_NoTwoListsOfPartsEncodeAlike) {
  test::Dice dice(20);
  const std::string alphabet("ab\0\x01\x08_", 6);
  std::map<std::string, std::vector<std::string>> seen;
  for (int i = 0; i < 50'000; ++i) {
    std::vector<std::string> parts(dice.uniform(0, 3));
    for (std::string& part : parts) {
      for (std::uint64_t n = dice.uniform(0, 9); n > 0; --n) part += alphabet[dice.uniform(0, 5)];
    }
    const auto [known, added] = seen.try_emplace(encoded(parts), parts);
    ASSERT_TRUE(added || known->second == parts) << "SUIMON_SEED=" << test::seed();
  }
}

TEST(Identity, TheSameClientHasUnrelatedKeysUnderOtherSecretsPurposesAndLimits) {
  const Secret secret{{1, 2}};
  const Secret other{{1, 3}};
  const auto key = [](const Secret& s, std::string_view purpose, std::string_view name) {
    return key_of(derive(s, purpose, name), "203.0.113.9");
  };
  EXPECT_EQ(key(secret, "table", "a"), key(secret, "table", "a"));
  EXPECT_NE(key(secret, "table", "a"), key(other, "table", "a"));
  EXPECT_NE(key(secret, "table", "a"), key(secret, "log", "a"));
  EXPECT_NE(key(secret, "table", "a"), key(secret, "table", "b"));
  EXPECT_NE(key(secret, "tablea", ""), key(secret, "table", "a"));
}

TEST(Identity, EverySecretIsDrawnAnew) {
  const Secret one = random_secret();
  const Secret two = random_secret();
  EXPECT_FALSE(one.key.k0 == two.key.k0 && one.key.k1 == two.key.k1);
}

}  // namespace
}  // namespace suimon
