#include "suimon/net/loop.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace suimon::net {
namespace {

using std::chrono::seconds;

struct Pair {
  Pair() {
    std::array<int, 2> fds{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()), 0);
    ours = Fd(fds[0]);
    theirs = Fd(fds[1]);
  }
  void poke() { EXPECT_EQ(::send(theirs.get(), "x", 1, MSG_NOSIGNAL), 1); }
  Fd ours, theirs;
};

struct Counter : Watcher {
  void on_ready(std::uint32_t) override {
    ++calls;
    if (then) then();
  }
  int calls = 0;
  std::function<void()> then;
};

TEST(Loop, ClockIsReadOncePerWakeUp) {
  ManualClock clock(Instant(seconds(1)));
  Loop loop(clock);
  clock.set(Instant(seconds(2)));
  EXPECT_EQ(loop.now(), Instant(seconds(1)));
  loop.poll_once(0);
  EXPECT_EQ(loop.now(), Instant(seconds(2)));
  clock.set(Instant(seconds(3)));
  EXPECT_EQ(loop.now(), Instant(seconds(2)));
  loop.poll_once(0);
  EXPECT_EQ(loop.now(), Instant(seconds(3)));
}

TEST(Loop, WatcherIsCalledWhileItsSocketIsReadyAndNotAfterUnwatch) {
  ManualClock clock;
  Loop loop(clock);
  Pair pair;
  Counter counter;
  ASSERT_TRUE(loop.watch(pair.ours.get(), EPOLLIN, &counter));
  loop.poll_once(0);
  EXPECT_EQ(counter.calls, 0);
  pair.poke();
  loop.poll_once(0);
  loop.poll_once(0);
  EXPECT_EQ(counter.calls, 2);
  ASSERT_TRUE(loop.modify(pair.ours.get(), 0, &counter));
  loop.poll_once(0);
  EXPECT_EQ(counter.calls, 2);
  loop.unwatch(pair.ours.get(), &counter);
  loop.poll_once(0);
  EXPECT_EQ(counter.calls, 2);
}

TEST(Loop, WatcherThatIsDestroyedByAnotherOfTheSameWakeUpIsNotCalled) {
  ManualClock clock;
  Loop loop(clock);
  Pair first, second;
  // Whichever comes first destroys the other at once, while its event is pending.
  auto a = std::make_unique<Counter>();
  auto b = std::make_unique<Counter>();
  int calls = 0;
  a->then = [&] {
    ++calls;
    loop.unwatch(second.ours.get(), b.get());
    b.reset();
  };
  b->then = [&] {
    ++calls;
    loop.unwatch(first.ours.get(), a.get());
    a.reset();
  };
  loop.watch(first.ours.get(), EPOLLIN, a.get());
  loop.watch(second.ours.get(), EPOLLIN, b.get());
  first.poke();
  second.poke();
  loop.poll_once(0);
  EXPECT_EQ(calls, 1);
  EXPECT_NE(a == nullptr, b == nullptr);
}

struct Mortal : Watcher {
  Mortal(Loop& on, int watched, bool& gone) : loop(on), fd(watched), destroyed(gone) {}
  ~Mortal() override { destroyed = true; }
  void on_ready(std::uint32_t) override {
    loop.unwatch(fd, this);
    loop.retire(std::unique_ptr<Watcher>(this));
    EXPECT_FALSE(destroyed) << "it is on the call stack";
  }
  Loop& loop;
  int fd;
  bool& destroyed;
};

TEST(Loop, WatcherMayRetireItself) {
  ManualClock clock;
  Loop loop(clock);
  Pair pair;
  bool destroyed = false;
  auto mortal = std::make_unique<Mortal>(loop, pair.ours.get(), destroyed);
  loop.watch(pair.ours.get(), EPOLLIN, mortal.get());
  pair.poke();
  Mortal* owned_by_loop = mortal.release();
  loop.poll_once(0);
  EXPECT_TRUE(destroyed) << static_cast<void*>(owned_by_loop);
}

TEST(Loop, EachWakeUpRunsPostsThenTimersThenHooks) {
  ManualClock clock;
  Loop loop(clock);
  std::string log;
  struct Timer : TimerTarget {
    void on_timer(Instant) override { *log += 't'; }
    std::string* log = nullptr;
  } timer;
  timer.log = &log;
  loop.on_wake_end([&] { log += '1'; });
  loop.on_wake_end([&] { log += '2'; });
  loop.timers().add(Instant(seconds(5)), timer);
  loop.post([&] { log += 'p'; });
  loop.poll_once(0);
  EXPECT_EQ(log, "p12");
  clock.advance(seconds(5));
  loop.poll_once(-1);  // a deadline that is due is not waited for
  EXPECT_EQ(log, "p12t12");
}

TEST(Loop, WorkPostedByPostedWorkComesWithTheNextWakeUp) {
  ManualClock clock;
  Loop loop(clock);
  int runs = 0;
  std::function<void()> again = [&] {
    if (++runs < 3) loop.post(again);
  };
  loop.post(again);
  loop.poll_once(0);
  EXPECT_EQ(runs, 1);
  loop.poll_once(-1);
  loop.poll_once(-1);
  EXPECT_EQ(runs, 3);
}

TEST(Loop, QueueOfPostedWorkIsBounded) {
  ManualClock clock;
  Loop loop(clock);
  std::size_t runs = 0;
  for (std::size_t i = 0; i < Loop::kMaxPosted; ++i) ASSERT_TRUE(loop.post([&] { ++runs; }));
  EXPECT_FALSE(loop.post([&] { ++runs; }));
  loop.poll_once(0);
  EXPECT_EQ(runs, Loop::kMaxPosted);
  EXPECT_TRUE(loop.post([] {}));
}

TEST(Loop, OtherThreadsPostAndStop) {
  ManualClock clock;
  Loop loop(clock);
  int runs = 0;  // only the loop's thread touches it
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      while (!loop.post([&] { ++runs; })) std::this_thread::yield();
    }
    loop.post([&] { loop.stop(); });
  });
  loop.run();
  other.join();
  EXPECT_EQ(runs, 1000);
}

TEST(Loop, StopThatComesBeforeRunIsNotForgotten) {
  ManualClock clock;
  Loop loop(clock);
  loop.stop();
  loop.run();
}

}  // namespace
}  // namespace suimon::net
