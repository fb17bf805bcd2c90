// The store on Redis while slots are on the move: calls about several keys do not run.

#include <gtest/gtest.h>

#include <utility>

#include "suimon/store/redis/alarm.h"
#include "suimon/store/redis/command.h"
#include "tests/store/redis_scene.h"

namespace suimon {
namespace {

using namespace test;

// A cluster's node whose slots are all on the move: a call about several keys never runs.
class OnTheMove final : public redis::Servers {
 public:
  static std::unique_ptr<redis::Servers> between(net::Loop& loop,
                                                 std::unique_ptr<redis::Servers> servers) {
    return std::make_unique<OnTheMove>(loop, std::move(servers));
  }
  OnTheMove(net::Loop& loop, std::unique_ptr<redis::Servers> servers)
      : servers_(std::move(servers)), refuse_(loop, *this) {}

  void run(std::uint16_t slot, const redis::Script& script, std::span<const std::string_view> keys,
           std::span<const std::string_view> arguments, redis::Heard heard) override {
    if (keys.size() < 2) return servers_->run(slot, script, keys, arguments, heard);
    refused_.push_back(heard);
    refuse_.soon();
  }
  bool clustered() const override { return servers_->clustered(); }
  const redis::Counters& counters() const override { return servers_->counters(); }

 private:
  void refuse() {
    for (const redis::Heard& heard : std::exchange(refused_, {})) {
      heard.run(heard.context, redis::Fate::not_run, redis::error_value("TRYAGAIN Multiple keys"));
    }
  }

  std::unique_ptr<redis::Servers> servers_;
  std::vector<redis::Heard> refused_;
  redis::Alarm<OnTheMove, &OnTheMove::refuse> refuse_;
};

class RedisOnTheMove : public testing::Test {
 protected:
  void SetUp() override {
    if (RedisServer::get() == nullptr) GTEST_SKIP() << "redis-server does not start";
    RedisServer::get()->ask({"FLUSHALL"});
  }
  // The beginning of the key's name: the tag of its shard.
  static std::string name(const Key& key, unsigned shards) {
    return "suimon:{" + redis::even_tags(shards)[redis::shard_of(key, shards)].text + "}";
  }
  static std::string record(const Key& key, unsigned shards) {
    std::string full_name = name(key, shards);
    redis::append_name(full_name, key);
    return RedisServer::get()->ask({"GET", full_name});
  }
};

TEST_F(RedisOnTheMove, WhatCannotBeAskedTogetherIsAskedKeyByKey) {
  RedisScene scene({.timeout = 5s}, &OnTheMove::between);
  const ShapeNumber shape = scene.add("limit", {3, per_hour(1)});
  std::vector<std::unique_ptr<Errand>> errands;
  for (std::uint64_t i = 0; i < 40; ++i) {
    errands.push_back(std::make_unique<Errand>(
        scene.store, std::vector<Charge>{{.key = {i % 10, i % 10}, .shape = shape}}));
  }
  int taken = 0;
  for (const auto& errand : errands) {
    scene.finish(*errand);
    EXPECT_TRUE(errand->result);
    taken += errand->group.taken ? 1 : 0;
  }
  EXPECT_EQ(taken, 30);
  EXPECT_EQ(scene.store.counted().errors(), 0u);
  EXPECT_EQ(scene.store.waiting(), 0u);
}

// Two of its keys lie in one shard, whose slot is on the move, and one in another.
TEST_F(RedisOnTheMove, AGroupThatIsAskedKeyByKeyLeavesNothingBehindWhenALaterOneRefuses) {
  constexpr unsigned kShards = 8;
  RedisScene scene({.shards = kShards, .timeout = 5s}, &OnTheMove::between);
  const ShapeNumber narrow = scene.add("narrow", {10, per_hour(1)});
  const ShapeNumber middle = scene.add("middle", {10, per_hour(10)});
  const ShapeNumber broad = scene.add("broad", {5, per_hour(100)});
  const Key a{0, 1};
  const Key b{0, 2};
  const Key c{~0ULL, 3};
  ASSERT_EQ(name(a, kShards), name(b, kShards));
  ASSERT_NE(name(a, kShards), name(c, kShards));
  const std::vector<Charge> all{{.key = c, .amount = 2, .shape = broad},
                                {.key = b, .amount = 3, .shape = middle},
                                {.key = a, .amount = 3, .shape = narrow}};
  std::vector<Decision> decisions;
  EXPECT_TRUE(scene.take(all, &decisions));
  EXPECT_EQ(decisions[0].remaining(), 3u);
  EXPECT_EQ(decisions[1].remaining(), 7u);
  EXPECT_EQ(decisions[2].remaining(), 7u);
  EXPECT_TRUE(scene.take(all));
  const std::string of_a = record(a, kShards);
  const std::string of_b = record(b, kShards);
  EXPECT_FALSE(scene.take(all, &decisions));
  EXPECT_TRUE(decisions[0].limited());
  EXPECT_EQ(decisions[1].granted() + decisions[2].granted(), 0u);
  // Behind what was taken back:
  EXPECT_EQ(scene.apply(Op::peek, 1, narrow, a).remaining(), 4u);
  EXPECT_EQ(scene.apply(Op::peek, 1, middle, b).remaining(), 4u);
  EXPECT_EQ(record(a, kShards), of_a);
  EXPECT_EQ(record(b, kShards), of_b);
  EXPECT_EQ(scene.store.counted().given_back.value(), 2u);
  EXPECT_EQ(scene.store.counted().errors(), 0u);
}

// A changed limit in both of them: records are replaced in calls of their own, too.
TEST_F(RedisOnTheMove, WhatMustBeConvertedIsConvertedKeyByKey) {
  RedisScene scene({.timeout = 5s}, &OnTheMove::between);
  const ShapeNumber before = scene.add("limit", {10, per_hour(1)}, scene.clock.now());
  const Key a{1, 1};
  const Key b{2, 2};
  EXPECT_TRUE(scene.take({{.key = a, .amount = 4, .shape = before}}));
  EXPECT_TRUE(scene.take({{.key = b, .amount = 4, .shape = before}}));
  const ShapeNumber after = scene.add("limit", {10, per_hour(2)}, scene.clock.now());
  ASSERT_NE(before, after);
  std::vector<Decision> decisions;
  EXPECT_TRUE(scene.take({{.key = a, .shape = after}, {.key = b, .shape = after}}, &decisions));
  EXPECT_EQ(decisions[0].remaining(), 5u);
  EXPECT_EQ(decisions[1].remaining(), 5u);
  EXPECT_EQ(scene.store.counted().conversions.value(), 2u);
  EXPECT_EQ(scene.store.counted().errors(), 0u);
}

}  // namespace
}  // namespace suimon
