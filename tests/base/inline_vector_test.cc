// InlineVector: what is there is copied, and what is not there is never touched.
#include "suimon/base/inline_vector.h"

#include <gtest/gtest.h>

#include <vector>

namespace suimon {
namespace {

TEST(InlineVector, IsCopiedWithWhatIsThere) {
  InlineVector<int, 3> one;
  one.emplace_back(7);
  InlineVector<int, 3> two = one;
  two.emplace_back(8);
  EXPECT_EQ(one.size(), 1u);
  EXPECT_EQ(std::vector<int>(two.begin(), two.end()), (std::vector<int>{7, 8}));

  one = two;
  const InlineVector<int, 3>& itself = one;
  one = itself;
  EXPECT_EQ(std::vector<int>(one.begin(), one.end()), (std::vector<int>{7, 8}));
  one = InlineVector<int, 3>{};
  EXPECT_TRUE(one.empty());
}

TEST(InlineVector, OnlyWhatIsThereIsMade) {
  static int made = 0;
  struct Counted {
    Counted() { ++made; }
  };
  InlineVector<Counted, 100> some;
  EXPECT_EQ(made, 0);
  some.emplace_back();
  some.emplace_back();
  EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace suimon
