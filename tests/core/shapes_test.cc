#include "suimon/core/shapes.h"

#include <gtest/gtest.h>

#include "tests/timeline.h"

namespace suimon {
namespace {

using namespace test;

TEST(ShapesTest, AnUnchangedLimitKeepsItsNumber) {
  Shapes shapes;
  const Limit limit{10, per_second(1)};
  const Shape* first = *shapes.assign("l", "", Algorithm::token_bucket, limit, at(0s));
  const Shape* again = *shapes.assign("l", "", Algorithm::token_bucket, limit, at(9s));
  EXPECT_EQ(first, again);
  EXPECT_EQ(again->since, at(0s));
  EXPECT_EQ(shapes.size(), 1u);
  EXPECT_NE(*shapes.assign("m", "", Algorithm::token_bucket, limit, at(0s)), first);
  EXPECT_NE(*shapes.assign("l", "free", Algorithm::token_bucket, limit, at(0s)), first);
}

TEST(ShapesTest, AChangedLimitIsSucceededEvenByParametersItOnceHad) {
  Shapes shapes;
  const Limit slow{10, per_second(1)};
  const Limit fast{20, per_second(5)};
  const Shape* first = *shapes.assign("l", "", Algorithm::token_bucket, slow, at(0s));
  const Shape* second = *shapes.assign("l", "", Algorithm::token_bucket, fast, at(5s));
  const Shape* third = *shapes.assign("l", "", Algorithm::token_bucket, slow, at(7s));
  EXPECT_EQ(&first->newest(), third);
  EXPECT_EQ(first->successor.load(), second);
  EXPECT_EQ(second->since, at(5s));
  EXPECT_NE(first->number, third->number);
  EXPECT_EQ(&shapes[second->number], second);
}

TEST(ShapesTest, ABadLimitIsNotTakenAndTheOldOneStays) {
  Shapes shapes;
  const Shape* good = *shapes.assign("l", "", Algorithm::token_bucket, {1, per_second(1)}, at(0s));
  EXPECT_FALSE(shapes.assign("l", "", Algorithm::token_bucket, {0, per_second(1)}, at(1s)));
  EXPECT_EQ(&good->newest(), good);
  EXPECT_EQ(shapes.size(), 1u);
}

TEST(ShapesTest, NumbersRunOutWithAnError) {
  Shapes shapes;
  for (std::size_t i = 0; i < Shapes::kMost; ++i) {
    const Limit limit{1 + i, per_second(1)};
    ASSERT_TRUE(shapes.assign("l", "", Algorithm::token_bucket, limit, at(0s)));
  }
  const auto more = shapes.assign("l", "", Algorithm::token_bucket, {1, per_second(1)}, at(0s));
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().text.find("16384"), std::string::npos);
  const Limit last{Shapes::kMost, per_second(1)};
  EXPECT_TRUE(shapes.assign("l", "", Algorithm::token_bucket, last, at(0s)));
}

TEST(Shapes, UnchangedAsksWithoutGivingANumber) {
  Shapes shapes;
  const Limit limit{10, per_second(1)};
  EXPECT_EQ(shapes.unchanged("d/a", "", Algorithm::token_bucket, limit), nullptr);
  const Shape* first = *shapes.assign("d/a", "", Algorithm::token_bucket, limit, Instant{});
  EXPECT_EQ(shapes.unchanged("d/a", "", Algorithm::token_bucket, limit), first);
  EXPECT_EQ(shapes.unchanged("d/a", "x", Algorithm::token_bucket, limit), nullptr);
  const Limit other{11, per_second(1)};
  const Shape* second = *shapes.assign("d/a", "", Algorithm::token_bucket, other, Instant{});
  EXPECT_EQ(shapes.unchanged("d/a", "", Algorithm::token_bucket, limit), nullptr);
  EXPECT_EQ(shapes.unchanged("d/a", "", Algorithm::token_bucket, other), second);
  EXPECT_EQ(shapes.size(), 2U);
}

}  // namespace
}  // namespace suimon
