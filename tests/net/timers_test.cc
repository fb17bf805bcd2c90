#include "suimon/net/timers.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "suimon/base/clock.h"

namespace suimon::net {
namespace {

using std::chrono::seconds;

constexpr Instant at(int second) { return Instant(seconds(second)); }

struct Recorder : TimerTarget {
  explicit Recorder(std::string& to, char as) : log(to), name(as) {}
  void on_timer(Instant) override {
    log += name;
    if (then) then();
  }
  std::string& log;
  char name;
  std::function<void()> then;
};

TEST(Timers, FireInTheOrderOfDeadlinesAndNeverEarly) {
  ManualClock clock;
  Timers timers;
  std::string log;
  Recorder a(log, 'a'), b(log, 'b'), c(log, 'c');
  timers.add(at(3), c);
  timers.add(at(1), a);
  timers.add(at(2), b);
  EXPECT_EQ(timers.next(), at(1));

  clock.set(Instant(seconds(1) - Duration(1)));
  EXPECT_EQ(timers.fire(clock.now()), 0u);
  clock.set(at(1));
  EXPECT_EQ(timers.fire(clock.now()), 1u);
  EXPECT_EQ(log, "a");
  clock.set(at(10));
  EXPECT_EQ(timers.fire(clock.now()), 2u);
  EXPECT_EQ(log, "abc");
  EXPECT_EQ(timers.next(), std::nullopt);
}

TEST(Timers, CancelledDeadlineIsNotMetAndCancellingTwiceIsHarmless) {
  Timers timers;
  std::string log;
  Recorder a(log, 'a'), b(log, 'b');
  const Timers::Id first = timers.add(at(1), a);
  timers.add(at(1), b);
  timers.cancel(first);
  timers.cancel(first);
  timers.cancel({});
  timers.fire(at(1));
  EXPECT_EQ(log, "b");
  timers.cancel(first);
}

TEST(Timers, TargetMayCancelAnotherThatIsDueInTheSameMoment) {
  Timers timers;
  std::string log;
  Recorder a(log, 'a'), b(log, 'b');
  timers.add(at(1), a);
  const Timers::Id second = timers.add(at(1), b);
  a.then = [&] { timers.cancel(second); };
  timers.fire(at(5));
  EXPECT_EQ(log, "a");
}

TEST(Timers, DeadlineThatIsAddedWhileFiringWaitsForTheNextTime) {
  Timers timers;
  std::string log;
  Recorder a(log, 'a'), b(log, 'b');
  a.then = [&] { timers.add(at(0), a); };
  timers.add(at(1), a);
  timers.add(at(2), b);
  EXPECT_EQ(timers.fire(at(5)), 2u);
  EXPECT_EQ(log, "ab");
  EXPECT_EQ(timers.next(), at(0));
  timers.fire(at(5));
  EXPECT_EQ(log, "aba");
}

TEST(Timers, OneTargetHasABoundedNumberOfDeadlines) {
  Timers timers;
  std::string log;
  Recorder a(log, 'a'), b(log, 'b');
  for (std::size_t i = 0; i < Timers::kMaxPerTarget; ++i) {
    EXPECT_NE(timers.add(at(1), a).number, 0u);
  }
  EXPECT_EQ(timers.add(at(1), a).number, 0u);
  EXPECT_NE(timers.add(at(1), b).number, 0u) << "the bound is each target's own";
  timers.fire(at(1));
  EXPECT_NE(timers.add(at(2), a).number, 0u) << "what has fired counts no more";
}

TEST(Timers, RandomTimelineFiresEveryDeadlineThatWasNotCancelledOnce) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Timers timers;
  ManualClock clock;
  std::string log;
  std::vector<std::unique_ptr<Recorder>> targets;
  std::vector<Timers::Id> ids;
  std::size_t cancelled = 0;
  for (int i = 0; i < 500; ++i) {
    targets.push_back(std::make_unique<Recorder>(log, 'x'));
    ids.push_back(timers.add(at(static_cast<int>(random() % 100)), *targets.back()));
  }
  for (const Timers::Id& id : ids) {
    if (random() % 3 != 0) continue;
    timers.cancel(id);
    ++cancelled;
  }
  while (const auto next = timers.next()) {
    ASSERT_GE(*next, clock.now());
    clock.set(*next);
    timers.fire(clock.now());
  }
  EXPECT_EQ(log.size() + cancelled, 500u);
}

}  // namespace
}  // namespace suimon::net
