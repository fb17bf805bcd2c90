#include "suimon/door/refund_book.h"

#include <gtest/gtest.h>

namespace suimon::door {
namespace {

using namespace std::chrono_literals;
using Entry = RefundBook::Entry;

constexpr Instant kStart{1h};

TEST(RefundBook, TheSameIdIsMadeOnce) {
  RefundBook book(random_secret());
  EXPECT_EQ(book.note("a", kStart), Entry::fresh);
  EXPECT_EQ(book.note("a", kStart), Entry::under_way);
  book.settle("a", true);
  EXPECT_EQ(book.note("a", kStart), Entry::made);
  EXPECT_EQ(book.note("b", kStart), Entry::fresh);
}

TEST(RefundBook, AnIdIsRememberedForTenMinutes) {
  RefundBook book(random_secret());
  EXPECT_EQ(book.note("a", kStart), Entry::fresh);
  book.settle("a", true);
  EXPECT_EQ(book.note("a", kStart + (10min - 1ns)), Entry::made);
  EXPECT_EQ(book.note("a", kStart + 10min), Entry::fresh);
}

TEST(RefundBook, WhatWasNotMadeMayBeTriedAgain) {
  RefundBook book(random_secret());
  EXPECT_EQ(book.note("a", kStart), Entry::fresh);
  book.settle("a", false);
  EXPECT_EQ(book.size(), 0U);
  EXPECT_EQ(book.note("a", kStart), Entry::fresh);
  EXPECT_EQ(book.note("b", kStart), Entry::fresh);
  book.settle("a", false);
  EXPECT_EQ(book.note("a", kStart + 9min), Entry::fresh);
  book.settle("a", true);
  // Its first note is forgotten now, its second not yet.
  EXPECT_EQ(book.note("a", kStart + 10min), Entry::made);
  EXPECT_EQ(book.note("a", kStart + 19min), Entry::fresh);
}

TEST(RefundBook, AFullBookTakesNoMoreUntilTheOldestIsForgotten) {
  RefundBook book(random_secret());
  for (std::size_t i = 0; i < RefundBook::kMost; ++i) {
    const std::string id = std::to_string(i);
    ASSERT_EQ(book.note(id, kStart + (i == 0 ? 0ns : 1s)), Entry::fresh);
    book.settle(id, true);
  }
  EXPECT_EQ(book.note("new", kStart + 1s), Entry::full);
  EXPECT_EQ(book.note("17", kStart + 1s), Entry::made) << "what is remembered still is";
  EXPECT_EQ(book.room_at(), kStart + 10min);
  EXPECT_EQ(book.note("new", kStart + 10min), Entry::fresh);
  EXPECT_EQ(book.note("newer", kStart + 10min), Entry::full);
}

}  // namespace
}  // namespace suimon::door
