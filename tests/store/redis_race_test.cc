// Eight processes, each with a loop and 64 groups always under way, on one key and on pairs that
// overlap: what they get together, by the store's clock.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/store/redis_scene.h"

namespace suimon {
namespace {

using namespace test;

constexpr int kProcesses = 8;
constexpr int kErrands = 64;
constexpr std::size_t kKeys = 4;
constexpr Duration kLong = 1s;

// What one process got from each key, and the instants of its first and last decisions.
struct Sums {
  std::array<std::uint64_t, kKeys> taken{};
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = 0;
  std::uint64_t decided = 0;
  std::uint64_t errors = 0;
};

struct Rival {
  RedisScene& scene;
  Dice& dice;
  Sums& sums;
  ShapeNumber shape;
  bool pairs;
  Instant end;
  int under_way = 0;
  struct Lane {
    Rival* rival;
    std::array<Charge, 2> charges;
    std::array<Decision, 2> decisions;
    Group group;
  };

  void go(Lane& lane) {
    const std::size_t count = pairs ? 2 : 1;
    std::array<std::uint64_t, 2> keys{};
    if (pairs) {
      keys[0] = dice.uniform(0, kKeys - 1);
      keys[1] = (keys[0] + dice.uniform(1, kKeys - 1)) % kKeys;
    }
    for (std::size_t i = 0; i < count; ++i) {
      // Over the shards, where there are several.
      lane.charges[i] = {.key = {keys[i] << (kPlaceBits - 2), keys[i]},
                         .amount = dice.uniform(1, 3),
                         .shape = shape};
    }
    lane.group = {{lane.charges.data(), count}, {lane.decisions.data(), count}};
    ++under_way;
    scene.store.take({&lane.group, 1}, {}, {&Rival::heard, &lane});
  }
  static void heard(void* context, const Result<void>& result) {
    Lane& lane = *static_cast<Lane*>(context);
    Rival& self = *lane.rival;
    --self.under_way;
    ++self.sums.decided;
    if (!result) ++self.sums.errors;
    for (std::size_t i = 0; result && i < lane.group.charges.size(); ++i) {
      const std::int64_t at = lane.decisions[i].at().ns;
      self.sums.first = std::min(self.sums.first, at);
      self.sums.last = std::max(self.sums.last, at);
      if (lane.group.taken) self.sums.taken[lane.charges[i].key.low] += lane.charges[i].amount;
    }
    if (self.scene.clock.now() < self.end) self.go(lane);
  }
};

Sums run_rival(const Limit& limit, bool pairs, unsigned shards, std::uint64_t stream) {
  Sums sums;
  RedisScene scene({.shards = shards, .timeout = 20s}, 20s);
  Dice dice(stream);
  Rival rival{.scene = scene,
              .dice = dice,
              .sums = sums,
              .shape = scene.add("limit", limit),
              .pairs = pairs,
              .end = scene.clock.now() + kLong};
  std::array<Rival::Lane, kErrands> lanes;
  for (Rival::Lane& lane : lanes) {
    lane.rival = &rival;
    rival.go(lane);
  }
  while (rival.under_way > 0) scene.loop.poll_once(1000);
  sums.errors += scene.store.counted().errors();
  // What is given back leaves after its group has been answered.
  for (int i = 0; i < 3 && shards > 1; ++i) {
    for (std::uint64_t key = 0; key < kKeys; ++key) {
      scene.apply(Op::peek, 1, rival.shape, {key << 62, key});
    }
  }
  return sums;
}

Sums race(const Limit& limit, bool pairs, unsigned shards) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  std::vector<pid_t> children;
  seed();
  for (int i = 0; i < kProcesses; ++i) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      const Sums sums = run_rival(limit, pairs, shards, static_cast<std::uint64_t>(80 + i));
      ::_exit(::write(ends[1], &sums, sizeof sums) == sizeof sums ? 0 : 1);
    }
    children.push_back(child);
  }
  Sums all;
  for (int i = 0; i < kProcesses; ++i) {
    Sums one;
    EXPECT_EQ(::read(ends[0], &one, sizeof one), static_cast<ssize_t>(sizeof one));
    for (std::size_t key = 0; key < kKeys; ++key) all.taken[key] += one.taken[key];
    all.first = std::min(all.first, one.first);
    all.last = std::max(all.last, one.last);
    all.decided += one.decided;
    all.errors += one.errors;
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  ::close(ends[0]);
  ::close(ends[1]);
  std::printf("%llu decisions\n", static_cast<unsigned long long>(all.decided));
  return all;
}

class RedisRace : public testing::Test {
 protected:
  void SetUp() override {
    if (RedisServer::get() == nullptr) GTEST_SKIP() << "redis-server does not start";
    RedisServer::get()->ask({"FLUSHALL"});
  }
  static constexpr std::uint64_t kRate = 500;  // per second
  static constexpr Limit kLimit{1'000, per_second(kRate)};

  static std::uint64_t most(const Sums& sums) {
    return kLimit.capacity +
           static_cast<std::uint64_t>(sums.last - sums.first) * kRate / 1'000'000'000;
  }
};

TEST_F(RedisRace, OnOneKeyTheyGetWhatThereIsAndNoTokenMore) {
  const Sums sums = race(kLimit, false, 1);
  EXPECT_EQ(sums.errors, 0u);
  EXPECT_GT(sums.decided, 1'000u);
  EXPECT_LE(sums.taken[0], most(sums));
  // And no less: at the end fewer than the largest cost are left, or there was no time to spend
  // them.
  EXPECT_GE(sums.taken[0] + 100, most(sums));
}

TEST_F(RedisRace, OnPairsThatOverlapNoneGetsATokenMore) {
  const Sums sums = race(kLimit, true, 1);
  EXPECT_EQ(sums.errors, 0u);
  for (std::size_t key = 0; key < kKeys; ++key) EXPECT_LE(sums.taken[key], most(sums)) << key;
  EXPECT_GE(*std::max_element(sums.taken.begin(), sums.taken.end()) + 200, most(sums));
}

// What a shard gives and takes back is neither lost for long nor given twice.
TEST_F(RedisRace, OnPairsOverSeveralShardsNoneGetsATokenMore) {
  const Sums sums = race(kLimit, true, 4);
  EXPECT_EQ(sums.errors, 0u);
  for (std::size_t key = 0; key < kKeys; ++key) EXPECT_LE(sums.taken[key], most(sums)) << key;
  EXPECT_GE(*std::max_element(sums.taken.begin(), sums.taken.end()), kLimit.capacity / 2);
}

}  // namespace
}  // namespace suimon
