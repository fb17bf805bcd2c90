// Threads that end, processes that fork, and more threads than have a descriptor of their own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "suimon/table/table.h"
#include "tests/timeline.h"

namespace suimon::test {
namespace {

// A table with two limits, and pairs of one key of each.
class Pairs {
 public:
  explicit Pairs(std::uint64_t capacity, std::uint32_t descriptors = 512)
      : table_(*table::Table::make({.keys = 100, .shapes = 2, .descriptors = descriptors})) {
    for (std::size_t i = 0; i < 2; ++i) {
      const Shape* shape = *shapes_.assign(i == 0 ? "a" : "b", "", Algorithm::token_bucket,
                                           {capacity, per_day(1)}, Instant::min());
      EXPECT_TRUE(table_.adopt({&shape, 1}));
      charges_[i] = {.key = {(i + 1) << 40, (i + 1) << 50}, .shape = shape->number};
    }
  }
  bool take() {
    std::array<Decision, 2> decisions;
    return table_.take(charges_, decisions, at(0s));
  }
  std::uint64_t left(std::size_t i) {
    Charge look = charges_[i];
    look.op = Op::peek;
    return table_.take_one(look, at(0s)).remaining();
  }

 private:
  Shapes shapes_;
  table::Table table_;
  std::array<Charge, 2> charges_;
};

// Decides while its thread ends, after the thread's number has been given back.
struct Last {
  Pairs* pairs = nullptr;
  std::atomic<std::uint64_t>* taken = nullptr;
  ~Last() {
    for (int i = 0; i < 2'000 && pairs != nullptr; ++i) *taken += pairs->take() ? 1 : 0;
  }
};

TEST(ThreadsEnd, WhatTheirDestructorsTakeIsCountedOnce) {
  constexpr std::uint64_t kCapacity = 10'000'000;
  Pairs pairs(kCapacity);
  std::atomic<std::uint64_t> taken{0};
  for (std::uint64_t round = 0; round < 20 * stretch(); ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        static thread_local Last last;  // made before the thread has a number, so it ends after it
        last.pairs = &pairs;
        last.taken = &taken;
        for (int i = 0; i < 200; ++i) taken += pairs.take() ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(pairs.left(0), kCapacity - taken);
  EXPECT_EQ(pairs.left(1), kCapacity - taken);
}

TEST(ThreadsEnd, MoreThreadsThanDescriptorsShareTheRest) {
  constexpr std::uint64_t kCapacity = 10'000'000;
  Pairs pairs(kCapacity, 4);
  std::atomic<std::uint64_t> taken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1'000; ++i) taken += pairs.take() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 16'000u);
  EXPECT_EQ(pairs.left(0), kCapacity - taken);
  EXPECT_EQ(pairs.left(1), kCapacity - taken);
}

// A child has a copy of the table, in which threads that it does not have hold descriptors.
TEST(ThreadsEnd, AForkedChildDecidesWhateverThreadsItsParentHad) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not follow a fork beside threads";
#endif
  Pairs pairs(10'000'000, 2);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!stop) pairs.take();
    });
  }
  for (int i = 0; i < 50; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(60);
      ::_exit(pairs.take() && pairs.take() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

// Keys that a table cannot tell apart are one state, also within one request.
TEST(Group, OfTwoKeysThatLookTheSameIsOneState) {
  auto table = *table::Table::make({.keys = 10, .shapes = 1, .descriptors = 2});
  Shapes shapes;
  const Shape* shape =
      *shapes.assign("a", "", Algorithm::token_bucket, {10, per_day(1)}, Instant::min());
  ASSERT_TRUE(table.adopt({&shape, 1}));
  const Key key{0x123456789abcdef0, 0x0fedcba987654321};
  const std::array pair{Charge{.key = key}, Charge{.key = {key.high ^ 1, key.low}}};
  std::array<Decision, 2> decisions;
  EXPECT_TRUE(table.take(pair, decisions, at(0s)));
  EXPECT_TRUE(table.take(pair, decisions, at(0s)));
  EXPECT_EQ(decisions[1].remaining(), 6u);
}

}  // namespace
}  // namespace suimon::test
