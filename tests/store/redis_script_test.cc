// take.lua and the core decide alike, at every scale: what the script takes, and what it keeps.

#include <gtest/gtest.h>

#include "suimon/store/reference.h"
#include "tests/store/redis_scene.h"
#include "tests/timeline.h"

namespace suimon {
namespace {

using namespace test;

// Several groups in one call.
struct Batches {
  explicit Batches(RedisScene& its) : scene(its) {}
  Result<void> take(std::span<Group> groups, Instant now) {
    heard = false;
    scene.store.take(groups, now,
                     {[](void* context, const Result<void>& its) {
                        auto& self = *static_cast<Batches*>(context);
                        self.heard = true;
                        self.result = its;
                      },
                      this});
    while (!heard) scene.loop.poll_once(1000);
    return result;
  }

  RedisScene& scene;
  bool heard = false;
  Result<void> result;
};

// A rate and a capacity anywhere in what validate() allows, most often where doubles end.
Limit some_limit(Dice& dice) {
  for (;;) {
    Limit limit{dice.any_size(1, std::uint64_t{1} << 60),
                {dice.any_size(1, ~0ULL >> 1), Duration(dice.any_size(1, ~0ULL >> 1))}};
    switch (dice.uniform(0, 6)) {
      case 0:
        limit = {dice.any_size(1, 1000), {1, std::chrono::hours(24 * 30)}};
        break;
      case 1:
        limit = {dice.any_size(1, std::uint64_t{1} << 40), per_second(1'000'000'000)};
        break;
      case 2:
      case 3:
        limit = {dice.any_size(1, 10'000),
                 {dice.any_size(1, 10'000), Duration(dice.any_size(1, 100'000'000'000'000))}};
        break;
      default:
        break;
    }
    if (validate(limit)) return limit;
  }
}

bool same_rate(const Limit& a, const Limit& b) {
  const detail::Scale x = detail::exact_scale(a);
  const detail::Scale y = detail::exact_scale(b);
  return x.scale == y.scale && x.token == y.token;
}

// Every group's outcome is checked by the store itself: the script's word against the core's, from
// the records that the script found. That the records are right is seen by the next batch's words,
// and here by a reference store, which has decided the same from the beginning.
TEST(RedisScript, AgreesWithTheCoreAtEveryScale) {
  if (RedisServer::get() == nullptr) GTEST_SKIP() << "no redis-server";
  Dice dice(70);
  std::uint64_t decided = 0;
  std::uint64_t taken = 0;
  for (std::uint64_t round = 0; round < 150 * stretch(); ++round) {
    RedisServer::get()->ask({"FLUSHALL"});
    RedisScene scene({.clock = RedisOptions::Clock::caller});
    Batches batches(scene);
    ReferenceStore reference(ReferenceStore::Options{});
    std::array<ShapeNumber, 3> shapes{};
    std::array<Limit, 3> limits;
    for (std::size_t i = 0; i < 3; ++i) {
      limits[i] = some_limit(dice);
      // A record does not tell tiers of one rate apart and converts nothing between them, while the
      // reference store does, and cuts off debts above 2^61 tokens on the way.
      while (i == 1 && same_rate(limits[0], limits[1])) limits[i] = some_limit(dice);
      // Two tiers of one limit, and another limit.
      shapes[i] = scene.add(i < 2 ? "one" : "other", limits[i], Instant::min(), i == 1 ? "b" : "");
    }
    const std::array adopted{&scene.shapes[shapes[0]], &scene.shapes[shapes[1]],
                             &scene.shapes[shapes[2]]};
    ASSERT_TRUE(reference.adopt(adopted));
    std::int64_t now = dice.one_in(4) ? static_cast<std::int64_t>(dice.any_size(0, ~0ULL))
                                      : static_cast<std::int64_t>(dice.any_size(0, ~0ULL >> 1));
    for (int step = 0; step < 20; ++step) {
      std::vector<std::array<Charge, 4>> charges(dice.uniform(1, 24));
      std::vector<std::array<Decision, 4>> decisions(charges.size());
      std::vector<std::array<Decision, 4>> expected(charges.size());
      std::vector<Group> groups;
      std::vector<Group> judged;
      for (std::size_t g = 0; g < charges.size(); ++g) {
        const std::size_t count = dice.one_in(3) ? dice.uniform(1, 4) : 1;
        for (std::size_t i = 0; i < count; ++i) {
          const std::size_t which = dice.one_in(5) ? dice.uniform(0, 2) : 0;
          const std::uint64_t capacity = limits[which].capacity;
          charges[g][i] = {
              .key = {which == 2 ? ~0ULL : 0, dice.uniform(0, dice.one_in(2) ? 3 : 40)},
              .amount = dice.one_in(40)  ? dice.any_size(0, ~0ULL)
                        : dice.one_in(4) ? dice.any_size(0, capacity + 1)
                                         : dice.any_size(0, capacity / 4 + 1),
              .max_wait = Duration(static_cast<std::int64_t>(dice.any_size(0, ~0ULL >> 1))),
              .shape = shapes[which],
              .op = dice.one_in(3) ? static_cast<Op>(dice.uniform(0, 5)) : Op::take};
        }
        groups.push_back({{charges[g].data(), count}, {decisions[g].data(), count}});
        judged.push_back({{charges[g].data(), count}, {expected[g].data(), count}});
      }
      const Instant at(Duration{now});
      const auto result = batches.take(groups, at);
      ASSERT_TRUE(result) << result.error().text << ", SUIMON_SEED=" << seed();
      reference.take(judged, at, {[](void*, const Result<void>&) {}, nullptr});
      for (std::size_t g = 0; g < groups.size(); ++g) {
        ASSERT_EQ(groups[g].taken, judged[g].taken) << "SUIMON_SEED=" << seed();
        taken += groups[g].taken ? 1 : 0;
        ++decided;
        for (std::size_t i = 0; i < groups[g].charges.size(); ++i) {
          const Decision& mine = decisions[g][i];
          const Decision& right = expected[g][i];
          ASSERT_EQ(mine.outcome(), right.outcome()) << "SUIMON_SEED=" << seed();
          ASSERT_EQ(mine.granted(), right.granted()) << "SUIMON_SEED=" << seed();
          ASSERT_EQ(mine.remaining(), right.remaining()) << "SUIMON_SEED=" << seed();
          ASSERT_EQ(mine.reset_after(), right.reset_after()) << "SUIMON_SEED=" << seed();
          ASSERT_EQ(mine.retry_after(), right.retry_after()) << "SUIMON_SEED=" << seed();
        }
      }
      const Limit& limit = limits[0];
      const std::uint64_t token_ns =
          static_cast<std::uint64_t>(limit.refill.period.count()) / limit.refill.tokens;
      const auto step_ns = static_cast<std::int64_t>(
          dice.one_in(20) ? dice.any_size(0, ~0ULL >> 2) : dice.any_size(0, 4 * token_ns + 2));
      now = (Instant(Duration(now)) + Duration(dice.one_in(8) ? -step_ns : step_ns)).ns;
    }
    ASSERT_EQ(scene.store.counted().disputed.value(), 0u) << "SUIMON_SEED=" << seed();
  }
  RecordProperty("decided", static_cast<int>(decided));
  std::printf("%llu groups, %llu taken\n", static_cast<unsigned long long>(decided),
              static_cast<unsigned long long>(taken));
  EXPECT_GT(taken, decided / 10);
}

}  // namespace
}  // namespace suimon
