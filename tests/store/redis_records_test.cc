// The records of the store on Redis: what is kept, for how long, and how it is read.
#include <set>

#include "tests/store/redis_store_scene.h"

namespace suimon {
namespace {

using namespace test;

TEST(RedisRecordNames, AreTheKeyInBase64Url) {
  const auto name = [](const Key& key) {
    std::string text;
    redis::append_name(text, key);
    return text;
  };
  EXPECT_EQ(name({}), "AAAAAAAAAAAAAAAAAAAAAA");
  EXPECT_EQ(name({0x0011223344556677, 0x8899aabbccddeeff}), "ABEiM0RVZneImaq7zN3u_w");
  EXPECT_EQ(name({0xfbff'ffff'ffff'ffff, 0xffff'ffff'ffff'fffe}), "-____________________g");
  std::set<std::string> names;
  for (unsigned bit = 0; bit < 64; ++bit) {
    names.insert(name({std::uint64_t{1} << bit, 0}));
    names.insert(name({0, std::uint64_t{1} << bit}));
  }
  EXPECT_EQ(names.size(), 128u);  // none of the bits is left out
}

TEST_F(RedisStoreTest, C16_AnImpossibleCostTakesNothingAndPinsNothing) {
  RedisScene scene;
  const ShapeNumber shape = scene.add("limit", {10, {1, 10s}});
  ASSERT_TRUE(scene.apply(Op::take, 8, shape).allowed());
  const Decision refused = scene.apply(Op::take, 1'000'000, shape);
  EXPECT_TRUE(refused.never());
  EXPECT_EQ(refused.remaining(), 2u);
  const auto lives = server().number({"PTTL", full_name(kKey)});
  EXPECT_GT(lives, 70'000);
  EXPECT_LE(lives, 90'000);
  expect_expiry_when_full(server(), full_name(kKey), record(kKey));
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
      expect_expiry_when_full(server(), full_name(key), *redis::parse_record(seen));
    }
  }
}

// It may be set to what holds for the next writes, too; but never to less than the record needs,
// not for ever, and not longer for what has been given back.
TEST_F(RedisStoreTest, AnExpiryIsSetAgainOnlyWhenItMustBe) {
  RedisScene scene;
  const std::string name = full_name(kKey);
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
    server().ask({"SET", full_name(kKey), text});
    EXPECT_EQ(scene.apply(Op::take, 1, shape).remaining(), 9u) << text.size();
    EXPECT_EQ(scene.apply(Op::take, 1, shape).remaining(), 8u) << text.size();
    expect_expiry_when_full(server(), full_name(kKey), record(kKey));
  }
}

// Whole but for their instants, which no process could have written.
TEST_F(RedisStoreTest, ARecordFromBeyondAllInstantsIsNothing) {
  RedisScene scene;
  constexpr std::int64_t kLowest = -9'223'372'037, kHighest = 9'223'372'036;
  for (const Limit limit : {Limit{10, per_hour(1)}, Limit{5, {1, 24h * 30}}}) {
    const ShapeNumber shape = scene.add("limit" + std::to_string(limit.capacity), limit);
    const auto q = static_cast<std::uint64_t>(limit.refill.period.count());
    for (const auto& [seconds, nanoseconds] :
         {std::pair{-(std::int64_t{1} << 39), 0U}, std::pair{kLowest, 145'224'191U},
          std::pair{kHighest, 854'775'808U}, std::pair{(std::int64_t{1} << 39) - 1, 0U}}) {
      std::string bytes;
      redis::append_record(bytes, {.ledger = {.at = Instant{}, .amount = 1}, .p = 1, .q = q});
      std::string instant;
      redis::append_bytes(instant, static_cast<std::uint64_t>(seconds) & 0xffffffffff, 5);
      redis::append_bytes(instant, nanoseconds, 4);
      bytes.replace(1, instant.size(), instant);
      bytes.append(redis::kExpiryBytes, '\0');
      server().ask({"SET", full_name(kKey), bytes});
      EXPECT_FALSE(redis::parse_record(bytes));
      EXPECT_TRUE(scene.apply(Op::peek, limit.capacity, shape).allowed()) << seconds;
      EXPECT_FALSE(scene.take({{.key = kKey, .amount = limit.capacity, .shape = shape},
                               {.key = kKey, .amount = 1, .shape = shape}}));
      EXPECT_EQ(scene.apply(Op::take, 1, shape).remaining(), limit.capacity - 1) << seconds;
      EXPECT_EQ(scene.apply(Op::take, 1, shape).remaining(), limit.capacity - 2) << seconds;
      expect_expiry_when_full(server(), full_name(kKey), record(kKey));
      server().ask({"DEL", full_name(kKey)});
    }
  }
}

TEST_F(RedisStoreTest, ALargeStringInTheWayIsRemovedByALook) {
  RedisScene scene;
  const ShapeNumber shape = scene.add("limit", {10, per_hour(1)});
  server().ask({"SETRANGE", full_name(kKey), "5000000", "x"});
  EXPECT_EQ(scene.apply(Op::peek, 1, shape).remaining(), 10u);
  EXPECT_EQ(record_text(kKey), "");
  EXPECT_EQ(server().number({"EXISTS", full_name(kKey)}), 0);
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

}  // namespace
}  // namespace suimon
