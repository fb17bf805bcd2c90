#include <gtest/gtest.h>

#include "suimon/store/redis/url.h"

namespace suimon::redis {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Url read(std::string_view text) {
  const auto url = parse_url(text);
  EXPECT_TRUE(url) << (url ? "" : url.error().text);
  return url.value_or(Url());
}
std::string mistake(std::string_view text) {
  const auto url = parse_url(text);
  EXPECT_FALSE(url) << text;
  return url ? "" : url.error().text;
}

TEST(RedisUrl, OneServerWithAllThereIsToSay) {
  const Url url = read(
      "rediss://ann:p%40s%2Fs@[::1]:6380/3?timeout=20ms&connect_timeout=2s&prefix=x:&shards=8"
      "&tls_ca=/ca&tls_cert=/c&tls_key=/k&tls_server_name=redis.example");
  EXPECT_EQ(url.kind, Url::Kind::single);
  ASSERT_EQ(url.endpoints.size(), 1u);
  EXPECT_EQ(url.endpoints[0].host, "::1");
  EXPECT_EQ(url.endpoints[0].port, 6380);
  EXPECT_EQ(url.user, "ann");
  EXPECT_EQ(url.password, "p@s/s");
  EXPECT_EQ(url.db, 3u);
  EXPECT_EQ(url.timeout, milliseconds(20));
  EXPECT_EQ(url.connect_timeout, seconds(2));
  EXPECT_EQ(url.prefix, "x:");
  EXPECT_EQ(url.shards, 8u);
  EXPECT_TRUE(url.tls);
  EXPECT_EQ(url.tls_server_name, "redis.example");
}

TEST(RedisUrl, WhatIsNotSaid) {
  const Url url = read("redis://redis.example");
  EXPECT_EQ(url.endpoints[0].port, 6379);
  EXPECT_EQ(url.timeout, milliseconds(50));
  EXPECT_EQ(url.prefix, "suimon:");
  EXPECT_FALSE(url.tls);
  EXPECT_EQ(read("redis://h/").db, 0u);
  EXPECT_EQ(read("redis+unix:///run/redis.sock?db=2").endpoints[0].path, "/run/redis.sock");
  EXPECT_EQ(read("redis://:secret@h").user, "");
}

TEST(RedisUrl, SeveralServers) {
  const Url sentinel = read("redis-sentinel://a,b:27000,[::1]/main/2");
  ASSERT_EQ(sentinel.endpoints.size(), 3u);
  EXPECT_EQ(sentinel.endpoints[0].port, 26379);
  EXPECT_EQ(sentinel.endpoints[1].port, 27000);
  EXPECT_EQ(sentinel.master, "main");
  EXPECT_EQ(sentinel.db, 2u);
  EXPECT_EQ(read("redis-cluster://a,b:7001").endpoints[0].port, 6379);
}

TEST(RedisUrl, MistakesSayWhatWouldBeRight) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"redis:/h", "write redis://"},
      {"valkey://h", "write redis://"},
      {"redis://", "no host"},
      {"redis://h:0", "1 to 65535"},
      {"redis://h:65536", "1 to 65535"},
      {"redis://::1", "write [::1]:6379"},
      {"redis://[::1", "without its ]"},
      {"redis://a,b", "several servers"},
      {"redis://h/one", "0 to 65535"},
      {"redis://ann@h", "user:password@"},
      {"redis://:%zz@h", "write %25"},
      {"redis://h?timeout=50", "timeout=50ms"},
      {"redis://h?timeout=0ms", "1ms to 60s"},
      {"redis://h?timeout=61s", "1ms to 60s"},
      {"redis://h?shards=0", "1 to 1024"},
      {"redis://h?prefix={a}", "holds { or }"},
      {"redis://h?pool=3", "unknown option \"pool\"; known are timeout"},
      {"redis://h?db=1&db=2", "\"db\" twice"},
      {"redis://h?tls_ca=/x", "write rediss://"},
      {"rediss://h?tls_cert=/x", "both tls_cert and tls_key"},
      {"redis://:a@h?password_file=/x", "write one of them"},
      {"redis-sentinel://h", "which master"},
      {"redis-cluster://h/1", "only number 0"},
      {"redis+unix://h", "redis+unix:///path"},
  };
  for (const auto& [text, part] : mistakes) {
    const std::string said = mistake(text);
    EXPECT_NE(said.find(part), std::string::npos) << text << ": " << said;
  }
}

TEST(RedisUrl, NoMistakeTellsThePassword) {
  for (const char* text :
       {"redis://:hunter2@h:0", "redis://:hun/ter2@h", "redis://ann:hunter2@",
        "redis://:hunter2@h?timeout=1", "redis:hunter2@://ann:x@h", "redis://a:b@h/x:hunter2@y",
        "http://:hunter2@h", ":hunter2@h", "redis://ann/x:hunter2@h", "redis://ann:66?hunter2@h",
        "redis://ann:66?db=hunter2@h"}) {
    const std::string said = mistake(text);
    EXPECT_EQ(said.find("hun"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace suimon::redis
