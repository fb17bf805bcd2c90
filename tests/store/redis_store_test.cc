// The store on Redis by the server's clock: what it keeps and for how long, what it answers when
// the server does not, and groups over several shards.

#include <gtest/gtest.h>

#include "suimon/core/key_text.h"
#include "tests/store/redis_scene.h"

namespace suimon {
namespace {

using namespace test;

class RedisStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (RedisServer::get() == nullptr) GTEST_SKIP() << "redis-server does not start";
    RedisServer::get()->ask({"FLUSHALL"});
  }
  static RedisServer& server() { return *RedisServer::get(); }

  // The text of a bulk answer; empty when there is none.
  static std::string bulk(const std::string& answer) {
    if (answer.starts_with("$-1")) return {};
    const auto begin = answer.find("\r\n") + 2;
    return answer.substr(begin, answer.size() - begin - 2);
  }
  static std::string record_text(const Key& key, const std::string& name = "suimon:") {
    return bulk(server().ask({"GET", name + key_text(key)}));
  }
  static redis::Record record(const Key& key) { return *redis::parse_record(record_text(key)); }
  static void put(const Key& key, const redis::Record& record) {
    std::string bytes;
    redis::append_record(bytes, record);
    bytes.append(redis::kExpiryBytes, '\0');
    server().ask({"SET", "suimon:" + key_text(key), bytes});
  }
  static Instant server_now() {
    const std::string answer = server().ask({"TIME"});
    const auto seconds = std::strtoll(answer.c_str() + answer.find("\r\n", 4) + 2, nullptr, 10);
    return Instant(std::chrono::seconds(seconds));
  }
  // The keys' names begin with the tag of their shard.
  static std::string name(const Key& key, unsigned shards) {
    return "suimon:{" + redis::even_tags(shards)[redis::shard_of(key, shards)].text + "}";
  }
};

constexpr Key kKey{1, 2};

// Not before it is full again, and not much later: the eight seconds that it may linger, and the
// two, begun ones, within which it is said to be full.
void expect_expiry_when_full(RedisServer& server, const std::string& name,
                             const redis::Record& record) {
  // In 128 bits: some are full only in thousands of years.
  const detail::uint128 full = static_cast<detail::uint128>(record.ledger.at.ns) +
                               (record.ledger.amount + record.p - 1) / record.p;
  const auto full_ms = static_cast<std::int64_t>((full + 999'999) / 1'000'000);
  const auto expires = server.number({"PEXPIRETIME", name});
  EXPECT_GE(expires, full_ms);
  EXPECT_LE(expires, full_ms + 10'000);
}

TEST_F(RedisStoreTest, C16_AnImpossibleCostTakesNothingAndPinsNothing) {
  RedisScene scene;
  const ShapeNumber shape = scene.add("limit", {10, {1, 10s}});
  ASSERT_TRUE(scene.apply(Op::take, 8, shape).allowed());
  const Decision refused = scene.apply(Op::take, 1'000'000, shape);
  EXPECT_TRUE(refused.never());
  EXPECT_EQ(refused.remaining(), 2u);
  const auto lives = server().number({"PTTL", "suimon:" + key_text(kKey)});
  EXPECT_GT(lives, 70'000);
  EXPECT_LE(lives, 90'000);
  expect_expiry_when_full(server(), "suimon:" + key_text(kKey), record(kKey));
}

TEST_F(RedisStoreTest, EveryRecordGoesWhenItIsFullAgainAtAnyRate) {
  RedisScene scene;
  const std::array limits{Limit{3, {1, std::chrono::hours(24 * 30)}},
                          Limit{100'000, {1, std::chrono::hours(24 * 30)}},
                          Limit{std::uint64_t{1} << 60, per_second(1'000'000'000)},
                          Limit{1000, per_second(9'999)}, Limit{5, {7, 365h * 24}}};
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const ShapeNumber shape = scene.add("limit" + std::to_string(i), limits[i]);
    for (const Op op : {Op::take, Op::force, Op::take_up_to, Op::give_back}) {
      const Key key{i, static_cast<std::uint64_t>(op)};
      ASSERT_TRUE(scene.take({{.key = key, .amount = limits[i].capacity, .shape = shape}}));
      ASSERT_TRUE(scene.apply(op, 1, shape, key).allowed() || op == Op::take);
      const auto seen = record_text(key);
      if (seen.empty()) continue;  // gone again: the third limit's is full soon
      expect_expiry_when_full(server(), "suimon:" + key_text(key), *redis::parse_record(seen));
    }
  }
}

// It may be set to what holds for the next writes, too; but never to less than the record needs, not
// for ever, and not longer for what has been given back.
TEST_F(RedisStoreTest, AnExpiryIsSetAgainOnlyWhenItMustBe) {
  RedisScene scene;
  const std::string name = "suimon:" + key_text(kKey);
  const auto expires = [&] { return server().number({"PEXPIRETIME", name}); };
  const ShapeNumber shape = scene.add("limit", {100, per_second(1)});
  scene.apply(Op::take, 1, shape);
  const auto first = expires();
  for (int i = 0; i < 4; ++i) {  // each is full a second later; eight are in hand
    scene.apply(Op::take, 1, shape);
    EXPECT_EQ(expires(), first);
    expect_expiry_when_full(server(), name, record(kKey));
  }
  scene.apply(Op::take, 60, shape);
  EXPECT_GT(expires(), first + 50'000);
  expect_expiry_when_full(server(), name, record(kKey));
  scene.apply(Op::give_back, 60, shape);
  EXPECT_LE(expires(), first + 10'000);
  expect_expiry_when_full(server(), name, record(kKey));

  // A copy that somebody brought back without its expiry, long after.
  put(kKey, {.ledger = {.at = server_now() + -20s, .amount = 50'000'000'000},
             .p = 1,
             .q = 1'000'000'000});
  EXPECT_EQ(expires(), -1);
  scene.apply(Op::take, 1, shape);
  expect_expiry_when_full(server(), name, record(kKey));
}

TEST_F(RedisStoreTest, ALookAndARefusalWriteNothing) {
  RedisScene scene;
  const ShapeNumber shape = scene.add("limit", {10, per_hour(1)});
  EXPECT_TRUE(scene.apply(Op::peek, 1, shape).allowed());
  EXPECT_EQ(record_text(kKey), "");
  scene.apply(Op::take, 10, shape);
  const std::string before = record_text(kKey);
  EXPECT_TRUE(scene.apply(Op::take, 1, shape).limited());
  EXPECT_FALSE(scene.take({{.key = {3, 4}, .shape = shape}, {.key = kKey, .shape = shape}}));
  EXPECT_EQ(record_text(kKey), before);
  EXPECT_EQ(record_text({3, 4}), "");
}

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

// The record says that another server's clock was an hour ahead: it neither mints nor refuses.
TEST_F(RedisStoreTest, AClockThatIsBehindARecordStandsStillForIt) {
  RedisScene scene;
  // The second one's numbers are larger than a double holds.
  for (const auto& [q, key] :
       {std::pair{60'000'000'000ULL, Key{1, 2}}, std::pair{2'592'000'000'000'000ULL, Key{3, 4}}}) {
    const Duration token(static_cast<std::int64_t>(q));
    const ShapeNumber shape = scene.add("limit" + std::to_string(q), {10, {1, token}});
    const Instant later = server_now() + 1h;
    put(key, {.ledger = {.at = later, .amount = 4 * q}, .p = 1, .q = q});
    const Decision first = scene.apply(Op::take, 6, shape, key);
    EXPECT_TRUE(first.allowed());
    EXPECT_EQ(first.remaining(), 0u);
    EXPECT_EQ(first.at(), later);
    EXPECT_EQ(scene.apply(Op::take, 1, shape, key).retry_after(), token);
    EXPECT_EQ(record(key).ledger.at, later);
  }
}

TEST_F(RedisStoreTest, WhatIsNoRecordIsNothing) {
  RedisScene scene;
  const ShapeNumber shape = scene.add("limit", {10, per_hour(1)});
  const std::string full(36, '\xff');
  const std::string wide = '\2' + std::string(50, '\xff');
  for (const std::string& text : {std::string("hello"), full, wide, std::string(36, '\0')}) {
    server().ask({"SET", "suimon:" + key_text(kKey), text});
    EXPECT_EQ(scene.apply(Op::take, 1, shape).remaining(), 9u) << text.size();
    EXPECT_EQ(scene.apply(Op::take, 1, shape).remaining(), 8u) << text.size();
    expect_expiry_when_full(server(), "suimon:" + key_text(kKey), record(kKey));
  }
}

// Another program's record, or one from before a restart with another policy: its debt in tokens
// stays, and flowed at its own rate until the new one came into force.
TEST_F(RedisStoreTest, ARecordInUnknownParametersIsReadByItsOwn) {
  RedisScene scene;
  const Instant since = scene.clock.now();
  const ShapeNumber shape = scene.add("limit", {100, per_hour(1)}, since);
  // 50 tokens owed 20 s ago, at 1/s: 30 are left.
  put(kKey, {.ledger = {.at = server_now() + -20s, .amount = 50'000'000'000},
             .p = 1,
             .q = 1'000'000'000});
  const Decision decision = scene.apply(Op::take, 1, shape);
  EXPECT_TRUE(decision.allowed());
  EXPECT_GE(decision.remaining(), 68u);
  EXPECT_LE(decision.remaining(), 71u);
  EXPECT_EQ(scene.store.counted().conversions.value(), 1u);
  EXPECT_EQ(record(kKey).q, 3'600'000'000'000u);
  scene.apply(Op::take, 1, shape);
  EXPECT_EQ(scene.store.counted().conversions.value(), 1u);
}

TEST_F(RedisStoreTest, AChangedLimitConvertsByTheServersClock) {
  RedisScene scene;
  const ShapeNumber shape = scene.add("limit", {100, per_hour(1)}, scene.clock.now());
  EXPECT_EQ(scene.apply(Op::take, 60, shape).remaining(), 40u);
  scene.add("limit", {200, per_hour(2)}, scene.clock.now());
  EXPECT_EQ(scene.apply(Op::peek, 1, shape).remaining(), 140u);
  EXPECT_EQ(scene.apply(Op::take, 140, shape).remaining(), 0u);
  EXPECT_EQ(scene.store.counted().errors(), 0u);
}

// A number that nobody uses any more is given another meaning: that is no change of a limit, and
// the records of its neighbours need no conversion.
TEST_F(RedisStoreTest, ARestatedShapeConvertsNobody) {
  RedisScene scene;
  const ShapeNumber one = scene.add("throttle", {10, per_hour(1)}, scene.clock.now(), "0");
  const ShapeNumber other = scene.add("throttle", {10, per_hour(2)}, scene.clock.now(), "1");
  scene.apply(Op::take, 5, one);
  scene.shapes.restate(scene.shapes[other], {20, per_hour(4)}, scene.clock.now());
  const std::array restated{&scene.shapes[other]};
  ASSERT_TRUE(scene.store.adopt(restated));
  EXPECT_EQ(scene.apply(Op::take, 1, one).remaining(), 4u);
  EXPECT_EQ(scene.apply(Op::take, 1, other, {3, 4}).remaining(), 19u);
  EXPECT_EQ(scene.store.counted().conversions.value(), 0u);
  EXPECT_EQ(scene.store.counted().retries.value(), 0u);
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
