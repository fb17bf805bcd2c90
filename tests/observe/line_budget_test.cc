#include "suimon/observe/line_budget.h"

#include <gtest/gtest.h>

namespace suimon {
namespace {

// How many of `count` lines of a limit are admitted in a second.
int admitted(LineBudget& budget, std::int64_t second, ShapeNumber limit, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += budget.admit(second, limit) ? 1 : 0;
  return sum;
}

TEST(LineBudget, TheFirstLinesOfEachSecondAreWritten) {
  LineBudget budget(10);
  EXPECT_EQ(admitted(budget, 1, 0, 5), 5);
  EXPECT_EQ(admitted(budget, 2, 0, 1000), 9);  // one is kept for another limit
  EXPECT_EQ(admitted(budget, 3, 0, 1000), 9);
}

TEST(LineBudget, AnAttackOnOneLimitDoesNotHideTheOthers) {
  LineBudget budget(100);
  EXPECT_EQ(admitted(budget, 1, 7, 50'000), 90);
  for (ShapeNumber limit = 0; limit < 5; ++limit) EXPECT_EQ(admitted(budget, 1, limit, 3), 1);
  // From the next second on it is known that six limits want lines.
  EXPECT_EQ(admitted(budget, 2, 7, 50'000), 16);
  for (ShapeNumber limit = 0; limit < 5; ++limit) EXPECT_EQ(admitted(budget, 2, limit, 3), 3);
}

TEST(LineBudget, AShareIsGivenBackWhenTheOthersAreGone) {
  LineBudget budget(20);
  EXPECT_EQ(admitted(budget, 1, 0, 5), 5);
  EXPECT_EQ(admitted(budget, 1, 1, 100), 10);
  EXPECT_EQ(admitted(budget, 2, 1, 100), 10);
  EXPECT_EQ(admitted(budget, 3, 1, 100), 18);
  EXPECT_EQ(admitted(budget, 9, 1, 100), 18);
}

TEST(LineBudget, MoreLimitsThanLinesStayWithinTheBudget) {
  LineBudget budget(10);
  for (std::int64_t second = 1; second < 4; ++second) {
    int sum = 0;
    for (ShapeNumber limit = 0; limit < 1000; ++limit) sum += admitted(budget, second, limit, 3);
    EXPECT_EQ(sum, 10);
  }
}

TEST(LineBudget, ALateLineIsChargedToTheNewestSecond) {
  LineBudget budget(1);
  EXPECT_TRUE(budget.admit(5, 0));
  EXPECT_FALSE(budget.admit(4, 1));
  EXPECT_FALSE(budget.admit(5, 2));
  EXPECT_TRUE(budget.admit(6, 2));
}

TEST(LineBudget, TheLastNumberOfALimitHasItsPlace) {
  LineBudget budget(1);
  EXPECT_TRUE(budget.admit(-3, Shapes::kMost - 1));
}

}  // namespace
}  // namespace suimon
