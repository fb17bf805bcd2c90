// A cluster of six nodes, and three Sentinels: slots that move, masters that die.
#include <array>
#include <map>

#include "tests/store/redis_process.h"

namespace suimon::test {
namespace {

using redis::Fate;
using redis::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

int run(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()); }

// Three masters, and a replica of each.
class ClusterOfSix {
 public:
  ClusterOfSix() {
    std::string create = "redis-cli --cluster create";
    for (int i = 0; i < 6; ++i) {
      nodes.push_back(std::make_unique<RedisProcess>(
          std::vector<std::string>{"--cluster-enabled", "yes", "--cluster-node-timeout", "1500",
                                   "--cluster-require-full-coverage", "no"}));
      create += " " + nodes.back()->address();
    }
    EXPECT_EQ(run(create + " --cluster-replicas 1 --cluster-yes"), 0);
    for (const auto& node : nodes) {
      EXPECT_TRUE(until(
          [&] {
            return node->says({"CLUSTER", "INFO"}, "cluster_state:ok") &&
                   node->says({"CLUSTER", "INFO"}, "cluster_known_nodes:6");
          },
          seconds(30)));
    }
  }
  std::string url(std::size_t seeds, const std::string& options) const {
    std::string text = "redis-cluster://";
    for (std::size_t i = 0; i < seeds; ++i) text += (i > 0 ? "," : "") + nodes[i]->address();
    return text + options;
  }
  // The node that calls itself the master of this slot.
  RedisProcess* master_of(unsigned slot, const RedisProcess* but = nullptr) const {
    for (const auto& node : nodes) {
      if (node.get() == but) continue;
      const std::string all = node->ask({"CLUSTER", "NODES"});
      const std::size_t me = all.find("myself,master");
      if (me == std::string::npos) continue;
      const std::string line = all.substr(me, all.find('\n', me) - me);
      std::size_t at = line.find("connected ");
      if (at == std::string::npos) continue;
      at += 10;
      while (at < line.size()) {
        const std::size_t end = std::min(line.find(' ', at), line.size());
        const std::string part = line.substr(at, end - at);
        const std::size_t dash = part.find('-');
        if (!part.empty() && part[0] != '[') {
          const unsigned long first = std::stoul(part);
          const unsigned long last =
              dash == std::string::npos ? first : std::stoul(part.substr(dash + 1));
          if (first <= slot && slot <= last) return node.get();
        }
        at = end + 1;
      }
    }
    return nullptr;
  }
  static std::string id(const RedisProcess& node) {
    const std::string answer = node.ask({"CLUSTER", "MYID"});
    return answer.substr(answer.find("\r\n") + 2, 40);
  }

  std::vector<std::unique_ptr<RedisProcess>> nodes;
};

class RedisCluster : public testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);
    if (!RedisProcess::available()) GTEST_SKIP() << "there is no redis-server";
  }
};

// Keys by their slots: "a" 15495, "b" 3300, "c" 7365.
constexpr std::pair<const char*, std::uint16_t> kKeys[] = {{"a", 15495}, {"b", 3300}, {"c", 7365}};

TEST_F(RedisCluster, SlotsMoveAndMastersDieAndEveryCallIsAnsweredOnceOrNotRun) {
  ClusterOfSix cluster;
  ServersScene scene(cluster.url(1, "?timeout=2s"));

  // From one seed to all masters.
  for (const auto& [key, slot] : kKeys) {
    const Heard heard = scene.add(key, 1, slot);
    EXPECT_EQ(heard.integer, 1) << heard.text;
  }
  EXPECT_EQ(scene.servers->counters().redirects, 0u);

  // A slot on the move: a key that is still there, and one that is asked for at its new home (ASK).
  RedisProcess* const old_home = cluster.master_of(15495);
  RedisProcess* const new_home = cluster.master_of(3300);
  ASSERT_TRUE(old_home != nullptr && new_home != nullptr && old_home != new_home);
  const std::string old_id = ClusterOfSix::id(*old_home);
  const std::string new_id = ClusterOfSix::id(*new_home);
  EXPECT_EQ(new_home->ask({"CLUSTER", "SETSLOT", "15495", "IMPORTING", old_id}), "+OK\r\n");
  EXPECT_EQ(old_home->ask({"CLUSTER", "SETSLOT", "15495", "MIGRATING", new_id}), "+OK\r\n");
  EXPECT_EQ(scene.add("a", 1, 15495).integer, 2) << "it has not moved yet";
  EXPECT_EQ(scene.servers->counters().redirects, 0u);
  const Heard elsewhere = scene.add("{a}new", 1, 15495);
  EXPECT_EQ(elsewhere.integer, 1) << elsewhere.text;
  EXPECT_EQ(scene.servers->counters().redirects, 1u);
  EXPECT_EQ(scene.add("{a}new", 1, 15495).integer, 2) << "an ASK is for one command";
  EXPECT_EQ(scene.servers->counters().redirects, 2u);

  // And moved for good (MOVED), as somebody asks in the middle of it.
  old_home->ask({"MIGRATE", "127.0.0.1", std::to_string(new_home->port()), "a", "0", "5000"});
  for (const auto& node : cluster.nodes) {
    node->ask({"CLUSTER", "SETSLOT", "15495", "NODE", new_id});
  }
  EXPECT_EQ(scene.add("a", 1, 15495).integer, 3);
  EXPECT_EQ(scene.servers->counters().redirects, 3u);
  EXPECT_EQ(scene.add("a", 1, 15495).integer, 4);
  EXPECT_EQ(scene.servers->counters().redirects, 3u) << "it is remembered";

  // A master dies; its replica takes over.
  RedisProcess* const victim = cluster.master_of(7365);
  ASSERT_NE(victim, nullptr);
  victim->kill();
  const auto start = std::chrono::steady_clock::now();
  std::uint16_t others = 0;
  scene.turn_until([&] {
    const Heard other = scene.add("b", 1, 3300);
    others = static_cast<std::uint16_t>(others + (other.fate == Fate::answered ? 0 : 1));
    const Heard heard = scene.add("c", 1, 7365);
    return heard.fate == Fate::answered && heard.type == Value::Type::integer;
  });
  EXPECT_EQ(others, 0u) << "the other masters go on";
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(15));

  // It comes back as a replica, and nobody asks it.
  victim->start();
  EXPECT_TRUE(until([&] { return victim->says({"ROLE"}, "connected"); }, seconds(20)));
  for (const auto& [key, slot] : kKeys) EXPECT_EQ(scene.add(key, 1, slot).fate, Fate::answered);
}

TEST_F(RedisCluster, ClusterThatIsNotThereIsNoErrorAndNobodyWaitsForIt) {
  ServersScene scene("redis-cluster://127.0.0.1:" + std::to_string(free_port()));
  ASSERT_TRUE(scene.turn_until([&] { return scene.servers->counters().breakers_open == 1; }));
  scene.turn_until([&] { return scene.add("k").text.find("refused") != std::string::npos; });
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(scene.add("k").fate, Fate::not_run);
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(1));
}

TEST_F(RedisCluster, ServerThatIsNoClusterSaysSo) {
  RedisProcess server;
  ServersScene scene("redis-cluster://" + server.address());
  EXPECT_TRUE(scene.turn_until(
      [&] { return scene.add("k").text.find("cluster support disabled") != std::string::npos; }));
}

TEST_F(RedisCluster, SentinelsNameTheMasterAndItsSuccessor) {
  RedisProcess master;
  RedisProcess replica({"--replicaof", "127.0.0.1", std::to_string(master.port())});
  ASSERT_TRUE(until([&] { return replica.says({"ROLE"}, "connected"); }, seconds(20)));
  std::vector<std::unique_ptr<RedisProcess>> sentinels;
  std::string url = "redis-sentinel://127.0.0.1:" + std::to_string(free_port());  // one is down
  for (int i = 0; i < 3; ++i) {
    sentinels.push_back(std::make_unique<RedisProcess>(RedisProcess::sentinel(
        "sentinel monitor m 127.0.0.1 " + std::to_string(master.port()) +
        " 2\nsentinel down-after-milliseconds m 500\nsentinel failover-timeout m 3000\n")));
    url += "," + sentinels.back()->address();
  }
  ServersScene unknown(url + "/nobody");
  ServersScene scene(url + "/m?timeout=500ms");
  scene.add_until_answered("k", seconds(10));
  for (const auto& sentinel : sentinels) {
    EXPECT_TRUE(until([&] { return sentinel->says({"SENTINEL", "CKQUORUM", "m"}, "OK 3 usable"); },
                      seconds(20)));
    EXPECT_TRUE(
        until([&] { return sentinel->says({"SENTINEL", "REPLICAS", "m"}, "slave"); }, seconds(20)));
  }
  master.kill();
  scene.add_until_answered("k", seconds(20));
  EXPECT_TRUE(replica.says({"ROLE"}, "master"));
  EXPECT_TRUE(replica.says({"GET", "k"}, "2"));
  EXPECT_TRUE(unknown.turn_until([&] {
    return unknown.add("k").text.find("knows no master \"nobody\"") != std::string::npos;
  }));
}

}  // namespace
}  // namespace suimon::test
