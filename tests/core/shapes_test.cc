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

TEST(ShapesTest, AReleasedNumberComesBackToTheLimitAndTierThatHadIt) {
  Shapes shapes;
  const auto assign = [&](std::string_view limit, std::string_view tier, std::uint64_t capacity,
                          Instant since) {
    return *shapes.assign(limit, tier, Algorithm::token_bucket, {capacity, per_second(1)}, since);
  };
  assign("l", "", 10, at(0s));
  assign("l", "", 20, at(1s));
  const Shape* third = assign("l", "", 30, at(2s));
  const Shape* other = assign("m", "", 30, at(2s));
  const std::vector<const Shape*> replaced = shapes.replaced();
  ASSERT_EQ(replaced.size(), 2u);
  EXPECT_EQ(shapes.used(), 4u);

  const Shape* fourth = assign("l", "", 40, at(3s));  // replaced meanwhile: not among those
  shapes.release(replaced);
  EXPECT_EQ(shapes.used(), 3u);
  EXPECT_EQ(third->predecessor, nullptr);
  EXPECT_EQ(fourth->predecessor, third);
  EXPECT_EQ(shapes.replaced(), std::vector<const Shape*>{third});

  EXPECT_GT(assign("m", "", 40, at(4s))->number, fourth->number);
  EXPECT_GT(assign("l", "gold", 40, at(4s))->number, fourth->number);
  EXPECT_FALSE(shapes.needs_new_number("l", "", Algorithm::token_bucket, {50, per_second(1)}));
  const Shape* again = assign("l", "", 50, at(5s));
  EXPECT_LT(again->number, third->number);
  EXPECT_EQ(again->parameters.capacity, 50u);
  EXPECT_EQ(again->since, at(5s));
  EXPECT_EQ(again->predecessor, fourth);
  EXPECT_EQ(&third->newest(), again);
  EXPECT_EQ(&other->newest(),
            shapes.unchanged("m", "", Algorithm::token_bucket, {40, per_second(1)}));
  assign("l", "", 60, at(6s));
  EXPECT_TRUE(shapes.needs_new_number("l", "", Algorithm::token_bucket, {70, per_second(1)}));
  EXPECT_EQ(shapes.size(), 7u);
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
