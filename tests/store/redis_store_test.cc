// The store on Redis by the server's clock: what leaves together, what it answers when the server
// does not, and groups over several shards.
#include "tests/store/redis_store_scene.h"

namespace suimon {
namespace {

using namespace test;

TEST_F(RedisStoreTest, WhatComesInOneWakeUpOrDuringARoundTripLeavesTogether) {
  RedisScene scene;
  const ShapeNumber shape = scene.add("limit", {1000, per_hour(1)});
  const auto errands = [&](int count) {
    std::vector<std::unique_ptr<Errand>> all;
    for (int i = 0; i < count; ++i) {
      all.push_back(std::make_unique<Errand>(scene.store,
                                             std::vector<Charge>{{.key = kKey, .shape = shape}}));
    }
    return all;
  };
  const auto first = errands(100);
  scene.loop.poll_once(0);  // sent
  const auto second = errands(200);
  for (const auto& errand : first) scene.finish(*errand);
  for (const auto& errand : second) scene.finish(*errand);
  EXPECT_EQ(scene.store.counted().batches.value(), 2u);
  EXPECT_EQ(scene.apply(Op::peek, 1, shape).remaining(), 700u);
}

TEST_F(RedisStoreTest, AScriptThatIsGoneIsLoadedAgain) {
  RedisScene scene;
  const ShapeNumber shape = scene.add("limit", {10, per_hour(1)});
  for (std::uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(scene.apply(Op::take, 1, shape).remaining(), 10 - i);
    server().ask({"SCRIPT", "FLUSH"});
  }
}

// Of a call with several groups, one of which cannot be decided, the others hold.
TEST_F(RedisStoreTest, OneGroupThatFailsLeavesTheOthers) {
  RedisScene scene;
  const ShapeNumber shape = scene.add("limit", {10, per_hour(1)});
  std::array charges{Charge{.key = kKey, .shape = shape}, Charge{.key = kKey, .shape = 99}};
  std::array<Decision, 2> decisions;
  std::array<Group, 2> groups;
  for (std::size_t i = 0; i < 2; ++i) groups[i] = {{&charges[i], 1}, {&decisions[i], 1}};
  bool heard = false;
  scene.store.take(groups, {},
                   {[](void* context, const Result<void>& result) {
                      *static_cast<bool*>(context) = true;
                      EXPECT_TRUE(result);
                    },
                    &heard});
  while (!heard) scene.loop.poll_once(1000);
  EXPECT_TRUE(groups[0].taken);
  EXPECT_FALSE(groups[0].failed);
  EXPECT_TRUE(groups[1].failed);
}

// The server stops in the middle; what was sent counts as spent and is not sent again, what waits
// is not sent at all.
TEST_F(RedisStoreTest, AnUnknownOutcomeIsNeverRepeated) {
  RedisScene scene({.timeout = 100ms}, 100ms);
  const ShapeNumber shape = scene.add("limit", {10, per_hour(1)});
  scene.apply(Op::take, 1, shape);
  ::kill(server().pid(), SIGSTOP);
  const Errand sent(scene.store, {{.key = kKey, .shape = shape}});
  scene.loop.poll_once(0);
  const Errand waits(scene.store, {{.key = kKey, .shape = shape}});
  scene.finish(sent);
  scene.finish(waits);
  ::kill(server().pid(), SIGCONT);
  EXPECT_FALSE(sent.result);
  EXPECT_TRUE(sent.group.failed);
  EXPECT_FALSE(waits.result);
  EXPECT_EQ(scene.store.counted().unknown.value() + scene.store.counted().not_sent.value(), 2u);
  EXPECT_GE(scene.store.counted().unknown.value(), 1u);
  server().ask({"PING"});
  EXPECT_EQ(scene.apply(Op::peek, 1, shape).remaining(), 8u);
}

// The script fails at its first write, and has changed nothing.
TEST_F(RedisStoreTest, AServerWithoutMemoryChargesNobody) {
  RedisScene scene;
  const ShapeNumber shape = scene.add("limit", {10, per_hour(1)});
  server().ask({"CONFIG", "SET", "maxmemory", "1"});
  const Errand pair(scene.store, {{.key = kKey, .shape = shape}, {.key = {3, 4}, .shape = shape}});
  scene.finish(pair);
  server().ask({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_FALSE(pair.result);
  EXPECT_EQ(scene.store.counted().errors(), 1u);
  EXPECT_EQ(scene.apply(Op::peek, 1, shape).remaining(), 10u);
  EXPECT_EQ(scene.apply(Op::peek, 1, shape, {3, 4}).remaining(), 10u);
}

TEST_F(RedisStoreTest, NoMoreWaitThanThereIsPlaceFor) {
  RedisScene scene({.max_waiting = 4});
  const ShapeNumber shape = scene.add("limit", {10, per_hour(1)});
  std::vector<std::unique_ptr<Errand>> errands;
  for (int i = 0; i < 5; ++i) {
    errands.push_back(
        std::make_unique<Errand>(scene.store, std::vector<Charge>{{.key = kKey, .shape = shape}}));
  }
  EXPECT_TRUE(errands[4]->heard);
  EXPECT_FALSE(errands[4]->result);
  EXPECT_EQ(scene.store.counted().no_place.value(), 1u);
  for (const auto& errand : errands) scene.finish(*errand);
  EXPECT_EQ(scene.apply(Op::peek, 1, shape).remaining(), 6u);
}

TEST_F(RedisStoreTest, WhoeverWaitsWhenTheStoreClosesHearsOfIt) {
  std::unique_ptr<Errand> errand;
  {
    RedisScene scene;
    errand = std::make_unique<Errand>(
        scene.store,
        std::vector<Charge>{{.key = kKey, .shape = scene.add("limit", {10, per_hour(1)})}});
    EXPECT_FALSE(errand->heard);
  }
  EXPECT_TRUE(errand->heard);
  EXPECT_FALSE(errand->result);
}

// The keys lie in different shards. What the first shard gave is as if it had never been asked.
TEST_F(RedisStoreTest, AGroupOverSeveralShardsLeavesNothingBehindWhenALaterOneRefuses) {
  constexpr unsigned kShards = 8;
  RedisScene scene({.shards = kShards});
  const ShapeNumber narrow = scene.add("narrow", {10, per_hour(1)});
  const ShapeNumber broad = scene.add("broad", {5, per_hour(100)});
  const Key a{0, 1};
  const Key b{~0ULL, 2};
  ASSERT_NE(name(a, kShards), name(b, kShards));
  const std::vector<Charge> both{{.key = b, .amount = 2, .shape = broad},
                                 {.key = a, .amount = 3, .shape = narrow}};
  std::vector<Decision> decisions;
  EXPECT_TRUE(scene.take(both, &decisions));
  EXPECT_EQ(decisions[0].remaining(), 3u);
  EXPECT_EQ(decisions[1].remaining(), 7u);
  EXPECT_TRUE(scene.take(both, &decisions));
  const std::string before = record_text(a, name(a, kShards));
  EXPECT_FALSE(scene.take(both, &decisions));
  EXPECT_TRUE(decisions[0].limited());
  EXPECT_EQ(decisions[0].remaining(), 1u);
  EXPECT_TRUE(decisions[1].allowed());
  EXPECT_EQ(decisions[1].granted(), 0u);
  EXPECT_EQ(decisions[1].remaining(), 4u);
  EXPECT_EQ(scene.apply(Op::peek, 1, narrow, a).remaining(), 4u);  // behind what was taken back
  EXPECT_EQ(record_text(a, name(a, kShards)), before);
  EXPECT_EQ(scene.store.counted().given_back.value(), 1u);

  // A key that nobody had seen is as unknown as before.
  const std::vector<Charge> fresh{{.key = b, .amount = 2, .shape = broad},
                                  {.key = {0, 7}, .amount = 3, .shape = narrow}};
  EXPECT_FALSE(scene.take(fresh));
  scene.apply(Op::peek, 1, narrow, a);
  EXPECT_EQ(record_text({0, 7}, name({0, 7}, kShards)), "");
}

// The narrow limit refuses first: the broad one is not even touched, and says what it has.
TEST_F(RedisStoreTest, OfSeveralShardsThatOfTheNarrowestLimitIsAskedFirst) {
  RedisScene scene({.shards = 8});
  const ShapeNumber narrow = scene.add("narrow", {1, per_hour(1)});
  const ShapeNumber broad = scene.add("broad", {5, per_hour(100)});
  const std::vector<Charge> both{{.key = {~0ULL, 2}, .shape = broad},
                                 {.key = {0, 1}, .shape = narrow}};
  std::vector<Decision> decisions;
  EXPECT_TRUE(scene.take(both));
  EXPECT_FALSE(scene.take(both, &decisions));
  EXPECT_TRUE(decisions[0].allowed());
  EXPECT_EQ(decisions[0].remaining(), 4u);
  EXPECT_TRUE(decisions[1].limited());
  EXPECT_EQ(scene.store.counted().given_back.value(), 0u);
}

// Somebody else came between: what flows back is what has not flowed in meanwhile.
TEST_F(RedisStoreTest, WhatIsTakenBackLateHasEvaporatedInPart) {
  constexpr std::uint64_t kRate = 1'000;  // per second: a round trip is worth some of it
  const Limit limit{10'000, per_second(kRate)};
  RedisScene scene({.shards = 8});
  const ShapeNumber shape = scene.add("limit", limit);
  const ShapeNumber none = scene.add("none", {1, per_hour(10'000'000'000)});
  const Key a{0, 1};
  const Key b{~0ULL, 2};
  scene.apply(Op::take, 1, shape, a);
  ASSERT_TRUE(scene.apply(Op::force, 1'000'000'000'000, none, b).allowed());
  for (int i = 0; i < 50; ++i) {
    // The first step of the first group and the second group leave together.
    const Errand first(scene.store,
                       {{.key = b, .shape = none}, {.key = a, .amount = 5'000, .shape = shape}});
    const Errand second(scene.store, {{.key = a, .amount = 3, .shape = shape}});
    scene.finish(first);
    scene.finish(second);
    ASSERT_FALSE(first.group.taken);
    ASSERT_TRUE(second.group.taken);
    const Decision after = scene.apply(Op::peek, 1, shape, a);
    // Never more than the capacity less what was admitted at that moment.
    const auto since = static_cast<std::uint64_t>((after.at() - second.decisions[0].at()).count());
    ASSERT_LE(after.remaining(), 10'000 - 3 + since * kRate / 1'000'000'000 + 1);
    // Not 5,000 less either.
    ASSERT_GE(after.remaining(), 9'000u);
  }
  EXPECT_EQ(scene.store.counted().given_back.value(), 50u);
}

// All that was taken has flowed in again before it is given back, and somebody else has taken the
// whole bucket since: giving back anything would be a gift.
TEST_F(RedisStoreTest, WhatHasFlowedInAlreadyIsNotGivenBack) {
  constexpr std::uint64_t kCapacity = 1'000'000'000;  // as many as flow in within a second
  RedisScene scene({.shards = 8});
  const ShapeNumber shape = scene.add("limit", {kCapacity, per_second(1'000'000'000)});
  const ShapeNumber none = scene.add("none", {1, {5'000'000'000, 1s}});
  const Key a{0, 1};
  const Key b{~0ULL, 2};
  ASSERT_TRUE(scene.apply(Op::force, 1'000'000'000'000'000, none, b).allowed());
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t sent = scene.store.counted().batches.value();
    const Errand first(scene.store,
                       {{.key = b, .shape = none}, {.key = a, .amount = 100, .shape = shape}});
    while (scene.store.counted().batches.value() < sent + 2) scene.loop.poll_once(1000);
    const Errand second(scene.store, {{.key = a, .amount = kCapacity, .shape = shape}});
    scene.finish(first);
    scene.finish(second);
    ASSERT_FALSE(first.group.taken);
    ASSERT_TRUE(second.group.taken);
    const Decision after = scene.apply(Op::peek, 1, shape, a);
    const auto flowed = static_cast<std::uint64_t>((after.at() - second.decisions[0].at()).count());
    ASSERT_EQ(after.remaining(), std::min(kCapacity, flowed));
    // Full again for the next round.
    scene.apply(Op::give_back, kCapacity, shape, a);
  }
}

// A server that answers with a word of its own.
class Liar final : public redis::Servers {
 public:
  explicit Liar(std::unique_ptr<redis::Servers> inner) : inner_(std::move(inner)) {}
  void run(std::uint16_t slot, const redis::Script& script, std::span<const std::string_view> keys,
           std::span<const std::string_view> arguments, redis::Heard heard) override {
    heard_ = heard;
    const auto lie = [](void* context, redis::Fate fate, const redis::Value& value) {
      const auto& self = *static_cast<Liar*>(context);
      std::vector<redis::Value> elements(value.elements.begin(), value.elements.end());
      elements[elements.size() - 2].text = "1";
      redis::Value other = value;
      other.elements = elements;
      self.heard_.run(self.heard_.context, fate, other);
    };
    inner_->run(slot, script, keys, arguments, {lie, this});
  }
  bool clustered() const override { return false; }
  const redis::Counters& counters() const override { return inner_->counters(); }

 private:
  std::unique_ptr<redis::Servers> inner_;
  redis::Heard heard_;
};

TEST_F(RedisStoreTest, AScriptThatDecidesDifferentlyIsFoundOutAndReported) {
  BootClock clock;
  net::Loop loop(clock);
  Shapes shapes;
  std::string complaint;
  RedisOptions options;
  options.complain = [&](std::string_view text) { complaint = text; };
  RedisStore store(loop, std::make_unique<Liar>(servers_on(loop, 5s)), options);
  const Shape* shape = *shapes.assign("limit", "", Algorithm::token_bucket, {1, per_hour(1)}, {});
  ASSERT_TRUE(store.adopt({&shape, 1}));
  for (const bool honest : {true, false}) {
    const Errand errand(store, {{.key = kKey, .shape = shape->number}});
    while (!errand.heard) loop.poll_once(1000);
    EXPECT_EQ(static_cast<bool>(errand.result), honest);
  }
  EXPECT_EQ(store.counted().disputed.value(), 1u);
  EXPECT_NE(complaint.find("differently"), std::string::npos);
}

// The first charge is on its way when the policy changes: its answer is that of the old one.
TEST_F(RedisStoreTest, AnAnswerIsReadByTheParametersThatWereSent) {
  const Limit before{3, per_hour(1)};
  for (const Limit after : {Limit{1, per_hour(1)}, Limit{9, per_hour(1)}, Limit{3, per_hour(2)},
                            Limit{1, per_second(7)}, Limit{9, per_day(5)}}) {
    server().ask({"FLUSHALL"});
    RedisScene scene;
    ShapeNumber shape = scene.add("limit", before);
    EXPECT_TRUE(scene.take({{.key = kKey, .amount = 2, .shape = shape}}));

    Errand under_way(scene.store, {{.key = kKey, .shape = shape}});
    while (scene.store.counted().batches.value() < 2) scene.loop.poll_once(0);
    ASSERT_FALSE(under_way.heard);
    shape = scene.add("limit", after);
    Errand next(scene.store, {{.key = kKey, .shape = shape, .op = Op::peek}});  // takes it over
    scene.finish(under_way);
    scene.finish(next);
    EXPECT_TRUE(under_way.result) << under_way.result.error().text;
    EXPECT_TRUE(under_way.group.taken);
    EXPECT_EQ(under_way.decisions[0].capacity(), 3u);
    EXPECT_EQ(under_way.decisions[0].remaining(), 0u);
    EXPECT_TRUE(next.result);
    EXPECT_EQ(next.decisions[0].capacity(), after.capacity);
    EXPECT_EQ(scene.store.counted().disputed.value(), 0u);
  }
}

TEST(RedisShards, TagsCoverTheSlotsEvenly) {
  EXPECT_EQ(redis::slot_of("123456789"), 0x31C3 % 16384);
  EXPECT_EQ(redis::slot_of("{user1000}.following"), redis::slot_of("user1000"));
  EXPECT_EQ(redis::slot_of("foo{}{bar}"), redis::slot_of("foo{}{bar}"));
  EXPECT_NE(redis::slot_of("foo{}{bar}"), redis::slot_of("bar"));
  for (const unsigned count : {1U, 3U, 64U, 1024U}) {
    const auto tags = redis::even_tags(count);
    ASSERT_EQ(tags.size(), count);
    for (unsigned i = 0; i < count; ++i) {
      EXPECT_EQ(tags[i].slot, redis::slot_of("suimon:{" + tags[i].text + "}00ff"));
      EXPECT_EQ(tags[i].slot * count / redis::kSlots, i);
    }
  }
  EXPECT_EQ(redis::shard_of({0, 0}, 64), 0u);
  EXPECT_EQ(redis::shard_of({~0ULL, 0}, 64), 63u);
  EXPECT_EQ(redis::shard_of({~0ULL << kPlaceBits, ~0ULL}, 64), 0u);  // the place alone says
}

}  // namespace
}  // namespace suimon
