#include "suimon/observe/ring.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

#include "tests/timeline.h"

namespace suimon {
namespace {

using test::stretch;

bool put(Ring<std::uint64_t>& ring, std::uint64_t value) {
  std::uint64_t* const place = ring.claim();
  if (place == nullptr) return false;
  *place = value;
  ring.publish();
  return true;
}

TEST(Ring, WhatGoesInComesOutInOrder) {
  Ring<std::uint64_t> ring(4);
  for (std::uint64_t round = 0; round < 10; ++round) {
    EXPECT_EQ(ring.front(), nullptr);
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(put(ring, 10 * round + i));
    for (std::uint64_t i = 0; i < 3; ++i) {
      ASSERT_NE(ring.front(), nullptr);
      EXPECT_EQ(*ring.front(), 10 * round + i);
      ring.pop();
    }
  }
}

TEST(Ring, AFullOneTakesNoMoreUntilOneIsRead) {
  Ring<std::uint64_t> ring(3);
  ASSERT_EQ(ring.capacity(), 4U);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(put(ring, i));
  EXPECT_FALSE(put(ring, 4));
  EXPECT_FALSE(put(ring, 4));
  ring.pop();
  EXPECT_TRUE(put(ring, 4));
  EXPECT_FALSE(put(ring, 5));
  EXPECT_EQ(*ring.front(), 1U);
}

TEST(Ring, AClaimedPlaceIsHiddenUntilItIsShown) {
  Ring<std::uint64_t> ring(2);
  *ring.claim() = 7;
  EXPECT_EQ(ring.front(), nullptr);
  ring.publish();
  EXPECT_EQ(*ring.front(), 7U);
}

// The reader sees the numbers that were taken in, each whole, once and in order, whatever was
// refused in between.
TEST(Ring, TwoThreadsLoseNothingThatWasTakenIn) {
  struct Pair {
    std::uint64_t number = 0;
    std::uint64_t twice = 0;
  };
  Ring<Pair> ring(8);
  const std::uint64_t most = 200'000 * stretch() / test::kSanitized;
  std::atomic<std::uint64_t> taken_in{0};
  std::atomic<bool> ended{false};
  std::thread writer([&] {
    for (std::uint64_t i = 1; i <= most; ++i) {
      Pair* const place = ring.claim();
      if (place == nullptr) {
        std::this_thread::yield();
        continue;
      }
      *place = {i, 2 * i};
      ring.publish();
      taken_in.fetch_add(1, std::memory_order_relaxed);
    }
    ended.store(true, std::memory_order_release);
  });
  std::uint64_t last = 0;
  std::uint64_t read = 0;
  for (bool over = false; !over;) {
    over = ended.load(std::memory_order_acquire);  // what was shown before is seen below
    while (const Pair* pair = ring.front()) {
      EXPECT_GT(pair->number, last);
      EXPECT_EQ(pair->twice, 2 * pair->number);
      last = pair->number;
      ++read;
      ring.pop();
    }
  }
  writer.join();
  EXPECT_EQ(read, taken_in.load());
  EXPECT_GT(read, 0U);
}

}  // namespace
}  // namespace suimon
