// The HTTP door over real sockets, on a clock that the test moves.
#include "suimon/door/http_door.h"

#include <gtest/gtest.h>

#include <charconv>
#include <random>

#include "suimon/policy/loader.h"
#include "tests/net/server_scene.h"
#include "tests/store/contract.h"

namespace suimon::door {
namespace {

using namespace std::chrono_literals;

// A daemon's loop, door and store, and one client of it.
class Scene {
 public:
  Scene(const std::string& store, const std::string& limits)
      : store_(*open_store(store)), live_(*store_, Secret{{1, 2}}) {
    Loaded loaded = load_policy_text("version: 1\ndomain: d\nlimits:\n" + limits, "p.yaml");
    for (const Mistake& mistake : loaded.mistakes) ADD_FAILURE() << mistake.to_string();
    EXPECT_TRUE(live_.install(std::move(loaded.policy), clock.now()));
    engine_ = std::make_unique<Engine>(live_, *store_, counters_, clock);
    door_ = std::make_unique<HttpDoor>(loop_, *engine_, counters_, DoorId{0}, ready_, clock);
    auto listener = net::open_listener(*net::parse_listen_address("127.0.0.1:0"), true);
    address_ = net::bound_address(*listener);
    server_ = std::make_unique<HttpServer>(loop_, std::move(*listener), *door_, HttpLimits{},
                                           net::ServerLimits{}, [] { return std::time_t{0}; });
    client_ = std::make_unique<net::Client>(address_);
  }

  std::string send(std::string_view bytes) {
    client_->send(bytes);
    return work();
  }
  // What has come after some wake-ups. (Bytes on the loopback arrive within the call that sends.)
  std::string work() {
    std::string all;
    for (int i = 0; i < 4; ++i) {
      loop_.poll_once(0);
      all += client_->read();
      if (!all.empty()) break;
    }
    return all;
  }
  bool closed() { return client_->closed(); }

  // The answer to one check with the attribute kind.
  struct Told {
    int status = 0;
    std::int64_t retry_after = 0;  // 0: none
  };
  Told check(const std::string& kind) {
    const std::string body = R"({"attributes": {"kind": ")" + kind + "\"}}";
    const std::string answer = send("POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                                    std::to_string(body.size()) + "\r\n\r\n" + body);
    Told told;
    if (answer.size() > 12) std::from_chars(answer.data() + 9, answer.data() + 12, told.status);
    constexpr std::string_view kField = "\r\nRetry-After: ";
    const auto at = answer.find(kField);
    if (at != std::string::npos) {
      std::from_chars(answer.data() + at + kField.size(), answer.data() + answer.size(),
                      told.retry_after);
    }
    return told;
  }

  std::uint64_t bad(int status) const {
    const auto at = std::find(kBadStatuses.begin(), kBadStatuses.end(), status);
    return server_->bad_requests()[static_cast<std::size_t>(at - kBadStatuses.begin())];
  }

  ManualClock clock;

 private:
  std::unique_ptr<Store> store_;
  LivePolicy live_;
  LoopCounters counters_;
  std::atomic<bool> ready_{true};
  net::Loop loop_{clock};
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<HttpDoor> door_;
  std::string address_;
  std::unique_ptr<HttpServer> server_;  // behind what it uses
  std::unique_ptr<net::Client> client_;
};

constexpr const char* kOnePerTenSeconds =
    "  - {name: one, key: [kind], token_bucket: {capacity: 1, refill: 1 per 10s}}\n";

class EveryStore : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, EveryStore, testing::ValuesIn(test::store_urls()), test::test_name);

TEST_P(EveryStore, C12_WhoIsToldToWaitAndWaitsIsAllowed) {
  Scene scene(GetParam(), kOnePerTenSeconds);
  const auto at = [&](Duration time) {
    scene.clock.set(Instant(time));
    return scene.check("a");
  };
  EXPECT_EQ(at(900ms).status, 200);
  const auto refused = at(1000ms);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.retry_after, 10);
  EXPECT_EQ(at(10'899ms).retry_after, 1);
  EXPECT_EQ(at(11'000ms).status, 200);
}

TEST_P(EveryStore, C12_ALoneClientThatWaitsAsTheHeaderSaysIsAlwaysAllowed) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  Scene scene(GetParam(),
              "  - {name: a, key: [kind], match: {kind: a}, token_bucket: {capacity: 1, refill: 1 "
              "per 10s}}\n"
              "  - {name: b, key: [kind], match: {kind: b}, token_bucket: {capacity: 2, refill: "
              "7/min}}\n"
              "  - {name: c, key: [kind], match: {kind: c}, token_bucket: {capacity: 1, refill: 11 "
              "per 13s}}\n"
              "  - {name: d, key: [kind], match: {kind: d}, token_bucket: {capacity: 3, refill: "
              "1000/h}}\n");
  int refusals = 0;
  for (int phase = 0; phase < 10'000; ++phase) {
    const std::string kind(1, "abcd"[random() % 4]);
    scene.clock.advance(Duration(static_cast<std::int64_t>(random() % 3'000'000'000)));
    const auto first = scene.check(kind);
    if (first.status == 200) continue;
    ASSERT_EQ(first.status, 429) << "phase " << phase;
    ASSERT_GE(first.retry_after, 1) << "phase " << phase;
    ++refusals;
    scene.clock.advance(std::chrono::seconds(first.retry_after));
    ASSERT_EQ(scene.check(kind).status, 200) << "phase " << phase << ", " << kind;
  }
  EXPECT_GT(refusals, 1000);
}

TEST(HttpDoor, HalfARequestIsToldThatItsTimeIsOver) {
  for (const std::string_view half :
       {"P", "\r\n", "POST /v1/check HTTP/1.1\r\nHost: a\r\n",
        "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{",
        "POST /v1/check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"}) {
    Scene scene("memory://?max_keys=1000", kOnePerTenSeconds);
    EXPECT_EQ(scene.send(half), "") << half;
    scene.clock.advance(10s - Duration(1));
    EXPECT_EQ(scene.work(), "") << half;
    scene.clock.advance(Duration(1));
    const std::string answer = scene.work();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n")) << answer;
    EXPECT_NE(answer.find("\r\nConnection: close\r\n"), std::string::npos) << answer;
    EXPECT_TRUE(scene.closed());
    EXPECT_EQ(scene.bad(408), 1u);
  }
}

TEST(HttpDoor, AnIdleConnectionEndsWithoutAWord) {
  Scene scene("memory://?max_keys=1000", kOnePerTenSeconds);
  EXPECT_EQ(scene.check("a").status, 200);
  scene.clock.advance(60s);
  EXPECT_EQ(scene.work(), "");
  EXPECT_TRUE(scene.closed());
  EXPECT_EQ(scene.bad(408), 0u);
}

}  // namespace
}  // namespace suimon::door
