// The explorer itself: it goes through all interleavings, each state once, and finds what is wrong.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>

#include "tests/model/behaviour.h"
#include "tests/model/cells.h"
#include "tests/model/explorer.h"

namespace suimon::model {
namespace {

using Kind = Operation::Kind;
using Words = std::array<std::uint64_t, 8>;

std::uint64_t load(const std::uint64_t& word) {
  return Behaviour::current().perform(Kind::load, &word).low;
}
void store(std::uint64_t& word, std::uint64_t value) {
  Behaviour::current().perform(Kind::store, &word, {}, {value, 0});
}
bool cas(std::uint64_t& word, std::uint64_t expected, std::uint64_t desired) {
  return Behaviour::current().perform(Kind::cas, &word, {expected, 0}, {desired, 0}).done != 0;
}

// A few threads that do the same on a few words, of which the first must be this at the end.
class Toy : private Law {
 public:
  explicit Toy(std::uint64_t wanted) : wanted_(wanted) {}

  Report explore(unsigned threads, const Behaviour::Program& program, const Bounds& bounds = {}) {
    Behaviour behaviour(cells_, program);
    Cast cast{.threads = threads};
    cast.killable.fill(true);
    return Explorer(cells_, behaviour, cast, *this).explore(bounds);
  }
  Words& words() { return words_; }

 private:
  const char* after(const State&, State&, unsigned, bool) override { return nullptr; }
  const char* at_end(const State& state) override {
    return cells_.get(state, cells_.of(words_.data())) == wanted_ ? nullptr : "not what was wanted";
  }
  bool watches(unsigned) const override { return true; }

  alignas(16) Words words_{};
  Cells cells_{std::as_writable_bytes(std::span(words_))};
  std::uint64_t wanted_;
};

TEST(ModelEngine, FindsALostUpdateAndTellsTheShortestStory) {
  Toy toy(2);
  const auto add = [&](unsigned) { store(toy.words()[0], load(toy.words()[0]) + 1); };
  const Report report = toy.explore(2, add);
  EXPECT_STREQ(report.wrong, "not what was wanted");
  EXPECT_EQ(toy.explore(2, add, {.interruptions = 0}).wrong, nullptr);
  const Report shortest = toy.explore(2, add, {.interruptions = 1});
  EXPECT_STREQ(shortest.wrong, "not what was wanted");
  EXPECT_EQ(shortest.story.size(), 4U);
}

TEST(ModelEngine, FindsNothingWhereNothingIsWrong) {
  Toy toy(3);
  const Report report = toy.explore(3,
                                    [&](unsigned) {
                                      for (std::uint64_t seen = load(toy.words()[0]);
                                           !cas(toy.words()[0], seen, seen + 1);) {
                                        seen = load(toy.words()[0]);
                                      }
                                    },
                                    {.alone_every = 1});
  EXPECT_EQ(report.wrong, nullptr);
  EXPECT_EQ(report.longest, 3U);  // what was read may be late once: a CAS, a load, a CAS
  EXPECT_GT(report.ends, 0U);
}

// Each thread is at one of four places, whatever the order in which they came there.
TEST(ModelEngine, ExploresEachStateOnce) {
  Toy toy(3);
  const Report report = toy.explore(3, [&](unsigned thread) {
    for (std::uint64_t i = 1; i <= 3; ++i) store(toy.words()[2 * thread], i);
  });
  EXPECT_EQ(report.wrong, nullptr);
  EXPECT_EQ(report.states, 4U * 4 * 4);
  EXPECT_EQ(report.moves, 3U * 3 * 4 * 4);
  EXPECT_EQ(report.ends, 1U);
}

TEST(ModelEngine, StopsOneThreadForEverAtAnyStep) {
  Toy toy(1);
  const auto twice = [&](unsigned) {
    store(toy.words()[0], 2);
    store(toy.words()[0], 1);
  };
  EXPECT_EQ(toy.explore(1, twice).wrong, nullptr);
  const Report report = toy.explore(1, twice, {.kills = 1});
  EXPECT_STREQ(report.wrong, "not what was wanted");
}

TEST(ModelEngine, SeesWhoWaitsForAThreadThatIsStopped) {
  Toy toy(0);
  const auto lock = [&](unsigned) {
    while (!cas(toy.words()[0], 0, 1)) {
    }
    store(toy.words()[0], 0);
  };
  EXPECT_EQ(toy.explore(2, lock).wrong, nullptr);
  EXPECT_STREQ(toy.explore(2, lock, {.alone_every = 1}).wrong,
               "a thread that goes on alone does not come to an end");
}

// What one thread alone touches, or nobody writes, is no step of its own, until it proves to be.
TEST(ModelEngine, StepsThatNobodyCanTellApartAreOne) {
  Toy toy(1);
  const Report report = toy.explore(2, [&](unsigned thread) {
    for (unsigned i = 0; i < 5; ++i) load(toy.words()[2]);
    if (thread == 0) store(toy.words()[0], 1);
  });
  EXPECT_EQ(report.wrong, nullptr);
  EXPECT_EQ(report.states, 3U * 2);
}

}  // namespace
}  // namespace suimon::model
