// What tests of the store on Redis share: a server that is empty, and its records.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "suimon/store/redis/record.h"
#include "suimon/store/redis/shards.h"
#include "tests/store/redis_scene.h"

namespace suimon::test {

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
  // Under which the server knows the key.
  static std::string full_name(const Key& key, std::string prefix = "suimon:") {
    redis::append_name(prefix, key);
    return prefix;
  }
  static std::string record_text(const Key& key, const std::string& prefix = "suimon:") {
    return bulk(server().ask({"GET", full_name(key, prefix)}));
  }
  static redis::Record record(const Key& key) { return *redis::parse_record(record_text(key)); }
  static void put(const Key& key, const redis::Record& record) {
    std::string bytes;
    redis::append_record(bytes, record);
    bytes.append(redis::kExpiryBytes, '\0');
    server().ask({"SET", full_name(key), bytes});
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

inline constexpr Key kKey{1, 2};

// Not before it is full again, and not much later: the eight seconds that it may linger, and the
// two, begun ones, within which it is said to be full.
inline void expect_expiry_when_full(RedisServer& server, const std::string& name,
                                    const redis::Record& record) {
  // In 128 bits: some are full only in thousands of years.
  const detail::uint128 full = static_cast<detail::uint128>(record.ledger.at.ns) +
                               (record.ledger.amount + record.p - 1) / record.p;
  const auto full_ms = static_cast<std::int64_t>((full + 999'999) / 1'000'000);
  const auto expires = server.number({"PEXPIRETIME", name});
  EXPECT_GE(expires, full_ms);
  EXPECT_LE(expires, full_ms + 10'000);
}

}  // namespace suimon::test
