#include "suimon/observe/top_keys.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "suimon/core/identity.h"

namespace suimon {
namespace {

using namespace std::chrono_literals;

// A clock that has run for a while: the first minute is not special.
constexpr Instant kStart{1h + 30s};  // in the middle of a minute

std::map<std::uint64_t, TopKey> all(const TopKeys& keys, Instant now) {
  std::map<std::uint64_t, TopKey> found;
  keys.each(now, [&](const TopKey& key) { found[key.key.low] = key; });
  return found;
}

TEST(TopKeys, AKeyIsCountedExactlyWhileThereIsRoom) {
  TopKeys keys;
  for (std::uint64_t i = 0; i < TopKeys::kSets; ++i) {
    for (std::uint64_t times = 0; times <= i; ++times) keys.add(7, {i << kPlaceBits, i}, kStart);
  }
  const auto found = all(keys, kStart);
  ASSERT_EQ(found.size(), TopKeys::kSets);
  for (const auto& [i, key] : found) {
    EXPECT_EQ(key.at_least, i + 1);
    EXPECT_EQ(key.at_most, i + 1);
    EXPECT_EQ(key.shape, 7);
  }
}

TEST(TopKeys, CountsAreHalvedForEveryFullMinute) {
  TopKeys keys;
  for (int i = 0; i < 8; ++i) keys.add(0, {1, 1}, kStart + i * 7s);
  EXPECT_EQ(all(keys, kStart + 59s).at(1).at_least, 8U) << "minutes of the clock are not meant";
  EXPECT_EQ(all(keys, kStart + 59s).at(1).at_least, 8U);
  EXPECT_EQ(all(keys, kStart + 60s).at(1).at_least, 4U);
  keys.add(0, {1, 1}, kStart + 60s);
  EXPECT_EQ(all(keys, kStart + 60s).at(1).at_least, 5U);
  EXPECT_EQ(all(keys, kStart + 180s).at(1).at_least, 1U);
  EXPECT_TRUE(all(keys, kStart + 240s).empty());
  EXPECT_TRUE(all(keys, kStart + 1000h).empty());
}

TEST(TopKeys, AClockThatGoesBackwardsRaisesNoCount) {
  TopKeys keys;
  keys.add(0, {1, 1}, kStart + 600s);
  keys.add(0, {1, 1}, kStart);
  EXPECT_EQ(all(keys, kStart).at(1).at_least, 2U);
  EXPECT_EQ(all(keys, kStart + 660s).at(1).at_least, 1U);
}

TEST(TopKeys, AFloodOfNewKeysDoesNotHideTheOneThatIsRefusedMost) {
  TopKeys keys;
  constexpr std::uint64_t kLoud = 1'000'000;
  std::uint64_t loud = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    keys.add(0, {i % TopKeys::kSets << kPlaceBits, i}, kStart);
    if (i % 100 != 0) continue;
    keys.add(0, {5 << kPlaceBits, kLoud}, kStart);
    ++loud;
  }
  const auto found = all(keys, kStart);
  EXPECT_EQ(found.size(), TopKeys::kSets * TopKeys::kWays);
  ASSERT_TRUE(found.contains(kLoud));
  EXPECT_LE(found.at(kLoud).at_least, loud);
  EXPECT_GE(found.at(kLoud).at_most, loud);
  // Of what its set was told, a sixteenth is the most that others can add to it.
  EXPECT_LE(found.at(kLoud).at_most - found.at(kLoud).at_least,
            (100'000 / TopKeys::kSets + loud) / TopKeys::kWays + 1);
}

TEST(TopKeys, AReaderSeesNoMixtureOfTwoKeys) {
  TopKeys keys;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    // Every key has the same number in all of its parts; all belong to one set.
    for (std::uint64_t i = 1; i <= 3'000'000; ++i) {
      const std::uint64_t number = i % 100 * TopKeys::kSets;
      keys.add(static_cast<ShapeNumber>(number), {number, number}, kStart);
    }
    stop = true;
  });
  std::uint64_t looks = 0;
  do {
    keys.each(kStart, [&](const TopKey& key) {
      EXPECT_EQ(key.key.high, key.key.low);
      EXPECT_EQ(key.shape, key.key.low);
      EXPECT_LE(key.at_least, key.at_most);
    });
    ++looks;
  } while (!stop);
  writer.join();
  EXPECT_GT(looks, 0U);
}

}  // namespace
}  // namespace suimon
