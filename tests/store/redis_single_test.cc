// One server: what becomes of calls when it is restarted, stands still, refuses, or talks nonsense.
#include <fcntl.h>

#include "tests/store/redis_process.h"

namespace suimon::test {
namespace {

using redis::Fate;
using redis::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

class RedisSingle : public testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);
    if (!RedisProcess::available()) GTEST_SKIP() << "there is no redis-server";
  }
};

TEST_F(RedisSingle, CallsMadeAtOnceAreAnsweredInOrderByOneConnection) {
  RedisProcess server;
  ServersScene scene("redis://" + server.address() + "?timeout=5s");
  std::vector<Heard> heard(100);
  for (Heard& one : heard) scene.begin("k", one);
  for (const Heard& one : heard) EXPECT_EQ(one.times, 0) << "never before run() returns";
  ASSERT_TRUE(scene.turn_until([&] { return heard.back().times > 0; }));
  for (std::size_t i = 0; i < heard.size(); ++i) {
    EXPECT_EQ(heard[i].fate, Fate::answered) << heard[i].text;
    EXPECT_EQ(heard[i].integer, static_cast<std::int64_t>(i + 1));
  }
  EXPECT_EQ(scene.servers->counters().connects, 1u);
  EXPECT_EQ(scene.servers->counters().script_loads, 1u) << "one for all of the pipeline";
}

TEST_F(RedisSingle, ServerThatIsKilledAndStartedAgainIsUsedAgain) {
  RedisProcess server;
  ServersScene scene("redis://" + server.address());
  scene.add_until_answered("k", seconds(5));
  server.kill();
  ASSERT_TRUE(scene.turn_until([&] { return scene.servers->counters().failures > 0; }));
  EXPECT_EQ(scene.add("k").fate, Fate::not_run) << "nothing was sent";
  server.start();
  scene.add_until_answered("k", seconds(10));
  EXPECT_EQ(scene.servers->counters().script_loads, 2u) << "its scripts are gone with it";
}

TEST_F(RedisSingle, ServerThatIsDownAtFirstIsNoErrorAndTripsTheBreaker) {
  const int port = free_port();
  ServersScene scene("redis://127.0.0.1:" + std::to_string(port));
  ASSERT_TRUE(scene.turn_until([&] { return scene.servers->counters().breakers_open == 1; }));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(scene.add("k").fate, Fate::not_run);
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(1)) << "nobody waits";
  EXPECT_NE(scene.add("k").text.find("refused"), std::string::npos);
}

TEST_F(RedisSingle, ServerThatStandsStillCostsTheTimeOutAndThenNothing) {
  RedisProcess server;
  ServersScene scene("redis://" + server.address() + "?timeout=50ms");
  scene.add_until_answered("k", seconds(5));
  server.signal(SIGSTOP);
  int unknown = 0;
  int late = 0;
  for (int i = 0; i < 200; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const Heard heard = scene.add("k");
    const auto took = std::chrono::steady_clock::now() - start;
    EXPECT_NE(heard.fate, Fate::answered);
    if (heard.fate == Fate::unknown) ++unknown;
    if (took > milliseconds(30)) ++late;
    EXPECT_LT(took, seconds(1));
  }
  EXPECT_EQ(unknown, 1) << "only what was sent";
  EXPECT_LE(late, 5) << "the breaker opens";
  server.signal(SIGCONT);
  scene.add_until_answered("k", seconds(10));
  EXPECT_EQ(scene.servers->counters().breakers_open, 0u);
}

TEST_F(RedisSingle, PasswordAndDatabaseAreGivenAtTheStart) {
  RedisProcess server(
      {"--requirepass", "p@ss/word", "--user", "ann", "on", ">se%cret", "~*", "+@all"});
  ServersScene wrong("redis://:other@" + server.address());
  ASSERT_TRUE(wrong.turn_until([&] { return wrong.servers->counters().breakers_open == 1; }));
  const std::string said = wrong.add("k").text;
  EXPECT_NE(said.find("AUTH was refused"), std::string::npos) << said;
  EXPECT_EQ(said.find("other"), std::string::npos) << said;
  ServersScene none("redis://" + server.address());
  ASSERT_TRUE(none.turn_until([&] { return none.servers->counters().breakers_open == 1; }));

  ServersScene encoded("redis://:p%40ss%2Fword@" + server.address() + "/3?timeout=5s");
  EXPECT_EQ(encoded.add("k").integer, 1);
  ServersScene user("redis://ann:se%25cret@" + server.address() + "/3?timeout=5s");
  EXPECT_EQ(user.add("k").integer, 2);
  ServersScene beside("redis://" + server.address() + "?timeout=5s", "p@ss/word");
  EXPECT_EQ(beside.add("k").integer, 1) << "another database";
}

TEST_F(RedisSingle, SocketOnThisMachine) {
  const TemporaryFolder folder;
  RedisProcess server({"--unixsocket", folder.path() + "/s"});
  ServersScene scene("redis+unix://" + folder.path() + "/s?timeout=5s");
  EXPECT_EQ(scene.add("k").integer, 1);
}

TEST_F(RedisSingle, NameIsLookedUpBesideTheLoop) {
  RedisProcess server;
  ServersScene scene("redis://localhost:" + std::to_string(server.port()) + "?timeout=5s");
  EXPECT_EQ(scene.add("k").integer, 1);
}

TEST_F(RedisSingle, DemotedMasterIsLeftAndFoundAgainWhenItIsOne) {
  RedisProcess master;
  RedisProcess other;
  ServersScene scene("redis://" + master.address());
  scene.add_until_answered("k", seconds(5));
  master.ask({"REPLICAOF", "127.0.0.1", std::to_string(other.port())});
  const Heard heard = scene.add("k");
  EXPECT_EQ(heard.fate, Fate::not_run) << heard.text;
  EXPECT_GE(scene.servers->counters().failures, 1u) << "the connection is given up";
  master.ask({"REPLICAOF", "NO", "ONE"});
  scene.add_until_answered("k", seconds(10));
}

TEST_F(RedisSingle, ErrorOfTheScriptIsAnAnswer) {
  RedisProcess server;
  ServersScene scene("redis://" + server.address() + "?timeout=5s");
  server.ask({"SET", "k", "text"});
  const Heard heard = scene.add("k");
  EXPECT_EQ(heard.fate, Fate::answered);
  EXPECT_EQ(heard.type, Value::Type::error);
  EXPECT_EQ(scene.servers->counters().failures, 0u);
}

TEST_F(RedisSingle, ScriptsThatAreFlushedAreLoadedAgain) {
  RedisProcess server;
  ServersScene scene("redis://" + server.address() + "?timeout=5s");
  EXPECT_EQ(scene.add("k").integer, 1);
  server.ask({"SCRIPT", "FLUSH"});
  EXPECT_EQ(scene.add("k").integer, 2);
  EXPECT_EQ(scene.servers->counters().script_loads, 2u);
}

}  // namespace
}  // namespace suimon::test
