// Worker processes over one table, killed at random moments, hundreds of times: nobody is blocked,
// nothing is charged in part, and what dead owners held is used again.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "tests/table/children.h"
#include "tests/table/scene.h"

namespace suimon::table {
namespace {

using namespace test;

constexpr Instant kNow = at(1h);
constexpr std::uint64_t kWorkers = 2;
constexpr std::uint64_t kSingles = 3;
constexpr std::uint64_t kFirsts = 20'000;
constexpr std::uint32_t kDescriptors = 8;

// How far a worker came with a call: written before it and after it.
enum class Call : std::uint8_t { none, began, returned };

// Shared with the workers, who report here.
struct Reports {
  struct Count {
    std::atomic<std::uint64_t> began{0}, admitted{0};
  };
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> refused{0};
  Count pairs;
  std::array<Count, kSingles> singles;
  // First uses of new keys: of one, or of two at once when the number is odd.
  std::atomic<std::uint64_t> next{0};
  std::array<std::atomic<Call>, kFirsts> firsts{};
};

class Killed : public testing::Test {
 protected:
  struct Worker {
    pid_t process = 0;
    std::uint64_t starts = 0;
  };

  Killed()
      : scene({.keys = 100'000, .shapes = 2, .descriptors = kDescriptors, .shared = true}),
        page(shared_page()),
        reports(*new(page.data()) Reports) {
    shape = scene.add("limit", {1'000'000'000, per_second(1)});
  }
  ~Killed() override {
    for (Worker& worker : workers) {
      if (worker.process > 0) end(worker);
    }
  }
  static Region shared_page() {
    auto made = Region::make(sizeof(Reports), true);
    if (!made) throw std::runtime_error(made.error().text);
    return std::move(*made);
  }

  Charge charge(Key key, std::uint64_t amount = 1) const {
    return {.key = key, .amount = amount, .shape = shape};
  }
  Charge single(std::uint64_t i) const { return charge(key_number(i)); }
  std::array<Charge, 2> pair() const { return {charge(kA, 2), charge(kB, 2)}; }
  std::array<Charge, 2> first(std::uint64_t i) const {
    return {charge(key_number(1'000 + 2 * i)), charge(key_number(1'001 + 2 * i))};
  }

  template <class Take>
  void counted(Reports::Count& count, const Take& take) {
    ++count.began;
    ++(take() ? count.admitted : reports.refused);
  }
  void first_use() {
    const std::uint64_t i = reports.next++;
    if (i >= kFirsts) return;
    reports.firsts[i] = Call::began;
    const auto both = first(i);
    const bool taken = i % 2 == 1 ? take_all(scene.table, both, kNow)
                                  : take_all(scene.table, std::array{both[0]}, kNow);
    if (!taken) ++reports.refused;
    reports.firsts[i] = Call::returned;
  }
  // What a worker does until it is killed, or told to stop.
  void work(std::uint64_t stream) {
    Dice dice(stream);
    for (; !reports.stop; ++reports.calls) {
      const std::uint64_t kind = dice.uniform(0, 9);
      if (kind == 0) {
        first_use();
      } else if (kind < 4) {
        const std::uint64_t i = dice.uniform(0, kSingles - 1);
        counted(reports.singles[i],
                [&] { return take_one(scene.table, single(i), kNow).allowed(); });
      } else {
        const auto [a, b] = pair();
        counted(reports.pairs, [&] {
          return take_all(scene.table, kind % 2 == 0 ? std::array{a, b} : std::array{b, a}, kNow);
        });
      }
    }
  }

  void start(std::uint64_t number) {
    Worker& worker = workers[number];
    const std::uint64_t stream = 600 + number + kWorkers * worker.starts++;
    worker.process = start_child([&] { work(stream); });
    ASSERT_GT(worker.process, 0);
  }
  static void end(Worker& worker) {
    EXPECT_EQ(::kill(worker.process, SIGKILL), 0);
    EXPECT_TRUE(was_killed(std::exchange(worker.process, 0)));
  }
  // Waits until the workers have made so many more calls; false when they do not.
  bool go_on(std::uint64_t calls) const {
    const std::uint64_t wanted = reports.calls + calls;
    const Instant latest = boot_now() + 60s;  // to end a test that has failed already
    while (reports.calls < wanted) {
      if (boot_now() > latest) return false;
      sched_yield();
    }
    return true;
  }
  std::uint64_t held() const {
    return static_cast<std::uint64_t>(
        std::count_if(scene.memory.descriptors, scene.memory.descriptors + kDescriptors,
                      [](const Descriptor& d) { return RealSteps::load(d.holder) != 0; }));
  }
  std::uint64_t debt(const Charge& one) { return owed(scene.table, one, kNow); }

  // Between what was surely charged and what was begun.
  void expect_between(std::uint64_t owes, const Reports::Count& count, std::uint64_t cost) {
    EXPECT_GE(owes, count.admitted * cost);
    EXPECT_LE(owes, count.began * cost);
    unsure += count.began - count.admitted;
  }
  void expect_all_or_nothing() {
    const auto [a, b] = pair();
    EXPECT_EQ(debt(a), debt(b)) << "charged in part";
    expect_between(debt(a), reports.pairs, a.amount);
    for (std::uint64_t i = 0; i < kSingles; ++i) {
      expect_between(debt(single(i)), reports.singles[i], 1);
    }
    for (std::uint64_t i = 0; i < std::min(kFirsts, reports.next.load()); ++i) {
      const auto [one, other] = first(i);
      const std::uint64_t owes = debt(one);
      ASSERT_EQ(debt(other), i % 2 == 1 ? owes : 0) << "charged in part: " << i;
      ASSERT_LE(owes, reports.firsts[i] == Call::none ? 0u : 1u) << i;
      if (reports.firsts[i] == Call::returned) {
        ASSERT_EQ(owes, 1u) << i;
      } else {
        ++unsure;
      }
    }
  }

  Scene scene;
  Region page;
  Reports& reports;
  ShapeNumber shape = 0;
  std::array<Worker, kWorkers> workers;
  std::uint64_t unsure = 0;  // calls of which nobody knows whether they had been charged
};

TEST_F(Killed, ProcessesLeaveNothingThatIsChargedInPartAndBlockNobody) {
  SUIMON_SKIP_WITHOUT_FORK();
  const std::uint64_t kills = 250 * stretch();
  Dice dice(599);
  for (std::uint64_t i = 0; i < kWorkers; ++i) start(i);
  std::uint64_t with_descriptor = 0;
  for (std::uint64_t kill = 0; kill < kills; ++kill) {
    ASSERT_TRUE(go_on(dice.any_size(1, 2'000))) << "blocked after " << kill << " kills";
    const std::uint64_t number = dice.uniform(0, kWorkers - 1);
    const pid_t process = workers[number].process;
    end(workers[number]);
    for (std::uint32_t i = 0; i < kDescriptors; ++i) {
      const std::uint64_t holder = RealSteps::load(scene.memory.descriptors[i].holder);
      with_descriptor += holder >> 32 == static_cast<std::uint64_t>(process) ? 1 : 0;
    }
    start(number);
  }
  // They go on, and all come to their end.
  ASSERT_TRUE(go_on(1'000));
  reports.stop = true;
  for (Worker& worker : workers) EXPECT_FALSE(was_killed(std::exchange(worker.process, 0)));

  EXPECT_LT(held(), kDescriptors) << "the last one alive was served";
  expect_all_or_nothing();
  EXPECT_LE(unsure, kills);
  EXPECT_EQ(reports.refused, 0u);
  EXPECT_EQ(scene.table.figures().overflows, 0u);
  std::printf("%llu kills, %llu of them in a decision over several states; %llu calls\n",
              static_cast<unsigned long long>(kills),
              static_cast<unsigned long long>(with_descriptor),
              static_cast<unsigned long long>(reports.calls.load()));
  EXPECT_GT(with_descriptor, kDescriptors);
}

}  // namespace
}  // namespace suimon::table
