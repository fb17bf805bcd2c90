// One thread is stopped before every one of its steps in turn, while others do all they do. The
// hazards that take two threads, each with its cure and without; and that all or none, and nobody
// refused wrongly, hold wherever it was stopped.

#include <gtest/gtest.h>

#include "tests/core/model.h"
#include "tests/table/scene.h"
#include "tests/table/stopped_steps.h"

namespace suimon::table {
namespace {

using namespace test;

constexpr Limit kTen{10, per_second(1)};

// Runs a scene for every step before which its stopped thread may be stopped, until it is through.
// True when scene(step, through) was true every time.
template <class Once>
bool wherever_stopped(const Once& once) {
  bool held = true;
  bool stopped = true;
  std::uint64_t step = 0;
  for (; stopped; ++step) held = once(step, stopped) && held;
  EXPECT_GT(step, 3u);
  return held;
}

// The first descriptors of a table that is not shared are its threads' own; here one thread plays
// two.
constexpr Table::Options kShared{.keys = 1, .shapes = 8, .descriptors = 8, .shared = true};

struct Ground : Scene {
  Ground() : Scene(kShared) {}
  const ShapeNumber shape = add("limit", kTen, {.largest_cost = 10});

  Charge take(Key key, std::uint64_t amount) const {
    return {.key = key, .amount = amount, .shape = shape};
  }
  // A thread's one call, noted when A's own state was charged.
  template <class Any>
  Decision noted(Any by, const Charge& charge, Instant now) {
    const std::uint64_t overflows = table.figures().overflows;
    const Decision decision = take_one(by, charge, now);
    const bool shared = table.figures().overflows != overflows;
    if (!shared) admitted.add(decision.at().ns, decision.granted());
    return decision;
  }
  // All twelve places hold others' states: who is at place i owes amounts[i] at 0 s.
  void fill(const std::array<std::uint64_t, 12>& amounts) {
    for (std::uint64_t i = 0; i < 12; ++i) take_one(table, take(key_number(i), 1), at(-1h));
    for (std::uint64_t i = 0; i < 12; ++i) {
      const auto place = static_cast<std::size_t>(slot_of(key_number(i)) - memory.lines);
      take_one(table, take(key_number(i), amounts[place]), at(0s));
    }
  }
  Admissions admitted;  // of A
};

// Two threads insert A: for the clock of one a single place is free, for the other's all are.
template <Cures kCures>
bool inserted_once() {
  return wherever_stopped([](std::uint64_t step, bool& stopped) {
    Ground ground;
    ground.fill({10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 1});
    auto other = [&] { ground.noted(ground.with<kCures>(), ground.take(kA, 10), at(20s)); };
    stopped = StoppedSteps::run(step, other, [&] {
      ground.noted(ground.over<StoppedSteps, kCures>(), ground.take(kA, 10), at(2s));
    });
    return ground.admitted.within(kTen);
  });
}

TEST(Stopped, TwoThreadsInsertAKeyAtDifferentPlaces) {
  EXPECT_TRUE(inserted_once<Cures{}>());
  EXPECT_FALSE(inserted_once<Cures{.verify = false}>());
}

// While one thread inserts A at the only place that is free by its clock, A comes elsewhere, is
// full again and is reclaimed.
template <Cures kCures>
bool bound_after_coming_and_going() {
  return wherever_stopped([](std::uint64_t step, bool& stopped) {
    Ground ground;
    ground.fill({4, 4, 4, 4, 10, 10, 10, 10, 10, 10, 10, 1});
    const auto others = [&] {
      auto table = ground.with<kCures>();
      ground.noted(table, ground.take(kA, 10), at(5s));
      for (std::uint64_t i = 100; i < 112 && ground.slot_of(kA) != nullptr; ++i) {
        take_one(table, ground.take(key_number(i), 1), at(40s));
      }
    };
    stopped = StoppedSteps::run(step, others, [&] {
      ground.noted(ground.over<StoppedSteps, kCures>(), ground.take(kA, 10), at(2s));
    });
    return ground.admitted.within(kTen);
  });
}

TEST(Stopped, AKeyComesAndGoesWhileItIsInserted) {
  EXPECT_TRUE(bound_after_coming_and_going<Cures{}>());
  EXPECT_FALSE(bound_after_coming_and_going<Cures{.horizon_after_verify = false}>());
}

// Nothing is free, and A has come meanwhile as the one who owes least: the thread that came to
// insert it must not put A out to make room for A.
TEST(Stopped, AKeyIsNeverItsOwnVictim) {
  EXPECT_TRUE(wherever_stopped([](std::uint64_t step, bool& stopped) {
    Ground ground;
    const ShapeNumber shape = ground.add("evictable", kTen, {.largest_cost = 1});
    for (std::uint64_t i = 0; i < 12; ++i) {
      const std::uint64_t owes = i == 0 ? 1 : 8;
      take_one(ground.table, {.key = key_number(i), .amount = owes, .shape = shape}, at(2s));
    }
    const Charge most{.key = kA, .amount = 6, .shape = shape};
    stopped = StoppedSteps::run(
        step, [&] { ground.noted(ground.over<RealSteps>(), most, at(2s)); },
        [&] { ground.noted(ground.over<StoppedSteps>(), most, at(2s)); });
    return ground.admitted.within(kTen);
  }));
}

// Between the look at a slot's identity and the look at its state it becomes another key's, who
// has nothing left. A itself is full again.
template <Cures kCures>
bool served_though_its_slot_changed() {
  return wherever_stopped([](std::uint64_t step, bool& stopped) {
    Ground ground;
    take_one(ground.table, ground.take(kA, 1), at(0s));
    const auto others = [&] {
      auto table = ground.with<kCures>();
      for (std::uint64_t i = 0; i < 12; ++i) {
        take_one(table, ground.take(key_number(200 + i), 10), at(2s));
      }
    };
    bool served = false;
    bool full = false;
    stopped = StoppedSteps::run(step, others, [&] {
      const std::uint64_t before = ground.table.figures().overflows;
      served =
          ground.noted(ground.over<StoppedSteps, kCures>(), ground.take(kA, 9), at(2s)).allowed();
      full = ground.table.figures().overflows != before;
    });
    return served || full;
  });
}

TEST(Stopped, ASlotBecomesAnothersBetweenTwoLooks) {
  EXPECT_TRUE(served_though_its_slot_changed<Cures{}>());
  EXPECT_FALSE(served_though_its_slot_changed<Cures{.wide_reads = false}>());
}

// Two pairs in opposite orders and one token of each key: exactly one pair is served.
using Two = std::array<Charge, 2>;
struct Pairs {
  const char* name;
  std::uint64_t known;  // bits: which of the two keys have state
  bool keyless;         // the second one is everybody's
};
class StoppedPair : public testing::TestWithParam<Pairs> {
 protected:
  static Two pair(std::uint64_t amount) {
    return {Charge{.key = kA, .amount = amount, .shape = 0},
            Charge{.key = kB, .amount = amount, .shape = 1, .keyless = GetParam().keyless}};
  }
  struct PairGround : Scene {
    PairGround() : Scene(kShared) {
      add("one", {6, per_day(1)});
      add("other", {6, per_day(1)});
      for (std::size_t i = 0; i < 2; ++i) {
        if ((GetParam().known >> i & 1) != 0) take_one(table, pair(1)[i], at(0s));
      }
    }
    std::uint64_t left(std::size_t i) { return 6 - owed(table, pair(1)[i], at(0s)); }
  };
};
INSTANTIATE_TEST_SUITE_P(Keys, StoppedPair,
                         testing::Values(Pairs{"BothNew", 0, false}, Pairs{"OneNew", 1, false},
                                         Pairs{"BothKnown", 3, false},
                                         Pairs{"OneIsEverybodys", 3, true},
                                         Pairs{"NewAndEverybodys", 0, true}),
                         [](const auto& test) { return test.param.name; });

TEST_P(StoppedPair, ExactlyOneOfTwoIsServed) {
  EXPECT_TRUE(wherever_stopped([](std::uint64_t step, bool& stopped) {
    PairGround ground;
    const std::uint64_t most = std::min(ground.left(0), ground.left(1));
    const auto [a, b] = pair(most);
    int served = 0;
    stopped = StoppedSteps::run(
        step, [&] { served += take_all(ground.table, Two{b, a}, at(0s)) ? 1 : 0; },
        [&] {
          auto table = ground.over<StoppedSteps>();
          served += take_all(table, Two{a, b}, at(0s)) ? 1 : 0;
        });
    if (!stopped) return served == 1;
    EXPECT_EQ(served, 1) << "stopped before step " << step;
    return served == 1 && std::min(ground.left(0), ground.left(1)) == 0;
  }));
}

TEST_P(StoppedPair, BothAreServedWhereThereIsEnough) {
  EXPECT_TRUE(wherever_stopped([](std::uint64_t step, bool& stopped) {
    PairGround ground;
    const std::uint64_t before = ground.left(0) + ground.left(1);
    const auto [a, b] = pair(2);
    int served = 0;
    const auto meanwhile = [&] {
      served += take_all(ground.table, Two{b, a}, at(0s)) ? 1 : 0;
      served += take_one(ground.table, pair(1)[0], at(0s)).allowed() ? 1 : 0;
    };
    stopped = StoppedSteps::run(step, meanwhile, [&] {
      auto table = ground.over<StoppedSteps>();
      served += take_all(table, Two{a, b}, at(0s)) ? 1 : 0;
    });
    if (!stopped) return served == 1;
    EXPECT_EQ(served, 3) << "stopped before step " << step;
    return served == 3 && before - ground.left(0) - ground.left(1) == 9;
  }));
}

// The other way to take from two states: one after the other, and back when the second refuses.
// Each thread holds what the other one needs, and both are refused where a token of each is there.
TEST(Stopped, TakingOneAfterTheOtherAndRollingBackRefusesWrongly) {
  Scene scene;
  const ShapeNumber shape = scene.add("limit", {1, per_day(1)});
  const Charge a{.key = kA, .shape = shape};
  const Charge b{.key = kB, .shape = shape};
  const auto takes = [&](Charge charge, Op op = Op::take) {
    charge.op = op;
    return take_one(scene.table, charge, at(0s)).allowed();
  };
  ASSERT_TRUE(takes(a, Op::peek) && takes(b, Op::peek)) << "both have looked first";
  EXPECT_TRUE(takes(a));   // the first thread
  EXPECT_TRUE(takes(b));   // the second thread
  EXPECT_FALSE(takes(b));  // the first one, which is refused and gives back
  EXPECT_FALSE(takes(a));  // the second one, too
  takes(a, Op::give_back);
  takes(b, Op::give_back);
  EXPECT_EQ(owed(scene.table, a, at(0s)) + owed(scene.table, b, at(0s)), 0u);
}

}  // namespace
}  // namespace suimon::table
