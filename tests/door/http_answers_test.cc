// What callers of the HTTP door are told, by policies that choose it: real sockets, a clock that
// the test moves.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "suimon/door/http_door.h"
#include "suimon/policy/loader.h"
#include "suimon/store/reference.h"
#include "tests/net/server_scene.h"

namespace suimon::door {
namespace {

constexpr std::uint8_t kJapanese = 1;
constexpr std::uint8_t kGerman = 2;

// 2026-11-30 12:00:00.25 UTC
constexpr Instant kWall(Duration(1'796'040'000'250'000'000));

Ruleset rules_of(const std::string& domain) {
  Loaded loaded = load_policy_text("version: 1\ndomain: " + domain + R"(
limits:
  - {name: per-user, key: [user], token_bucket: {capacity: 1, refill: 1 per 100s}}
  - name: per-address
    match: {method: POST}
    key: [client_ip]
    token_bucket: {capacity: 1, refill: 1 per 50s}
)",
                                   "limits.yaml");
  EXPECT_TRUE(loaded.ok());
  return std::move(loaded.policy.rulesets.at(0));
}

class HttpAnswers : public testing::Test {
 protected:
  void serve(std::vector<Ruleset> rulesets) {
    ASSERT_TRUE(live_.install({std::move(rulesets), {}}, clock_.now()));
    if (http_) return;
    engine_ = std::make_unique<Engine>(live_, store_, counters_, clock_);
    door_ = std::make_unique<HttpDoor>(loop_, *engine_, counters_, 0, ready_, wall_);
    auto listener = net::open_listener(*net::parse_listen_address("127.0.0.1:0"), true);
    ASSERT_TRUE(listener);
    const std::string address = net::bound_address(*listener);
    http_ =
        std::make_unique<HttpServer>(loop_, std::move(*listener), *door_, HttpLimits{},
                                     net::ServerLimits{}, [] { return std::time_t{1796040000}; });
    client_ = std::make_unique<net::Client>(address);
  }

  std::string ask(const std::string& target, const std::string& fields,
                  const std::string& body = "") {
    client_->send((body.empty() ? "GET " : "POST ") + target + " HTTP/1.1\r\nHost: h\r\n" + fields +
                  "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    for (int i = 0; i < 20; ++i) loop_.poll_once(0);
    return client_->read();
  }

  std::string check(const std::string& attributes = R"("user": "u1")",
                    const std::string& language = "", const std::string& query = "",
                    const std::string& domain = "shop") {
    return ask("/v1/check" + query, language.empty() ? "" : "Accept-Language: " + language + "\r\n",
               R"({"domain": ")" + domain + R"(", "attributes": {)" + attributes + "}}");
  }

  ManualClock clock_;
  ManualClock wall_{kWall};
  net::Loop loop_{clock_};
  ReferenceStore store_{{}};
  LivePolicy live_{store_, Secret{{1, 2}}};
  LoopCounters counters_;
  std::atomic<bool> ready_{true};
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<HttpDoor> door_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<net::Client> client_;
};

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string field(const std::string& answer, const std::string& name) {
  const auto begin = answer.find("\r\n" + name + ": ");
  if (begin == std::string::npos) return "";
  const auto value = begin + name.size() + 4;
  return answer.substr(value, answer.find("\r\n", value) - value);
}

TEST_F(HttpAnswers, TheStatusIsTheRequestsElseTheLimitsElseThePolicys) {
  Ruleset shop = rules_of("shop");
  shop.answers.deny_status = 503;
  shop.limits[1].deny_status = 403;
  serve({shop});
  const std::string post = R"("client_ip": "192.0.2.7", "method": "POST")";
  EXPECT_TRUE(check().starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(check(post).starts_with("HTTP/1.1 200 "));
  const std::string by_policy = check();
  EXPECT_TRUE(by_policy.starts_with("HTTP/1.1 503 ")) << by_policy;
  EXPECT_TRUE(holds(by_policy, R"("status":503)"));
  EXPECT_EQ(field(by_policy, "Retry-After"), "100");
  const std::string by_limit = check(post);
  EXPECT_TRUE(by_limit.starts_with("HTTP/1.1 403 ")) << by_limit;
  EXPECT_TRUE(holds(by_limit, R"("status":403)"));
  // Both refuse; the user's wait is longer.
  EXPECT_TRUE(check(post + R"(, "user": "u1")").starts_with("HTTP/1.1 503 "));
  const std::string by_request = check(post, "", "?deny_status=200");
  EXPECT_TRUE(by_request.starts_with("HTTP/1.1 200 ")) << by_request;
  EXPECT_TRUE(holds(by_request, R"("status":200)"));
  EXPECT_TRUE(holds(by_request, R"("allowed":false)"));
  EXPECT_EQ(field(by_request, "Retry-After"), "50");
}

TEST_F(HttpAnswers, CallersWhoNameNoLanguageGetThePolicysAndItsTitles) {
  Ruleset shop = rules_of("shop");
  shop.answers.language = kGerman;
  shop.limits[0].titles = {{kGerman, "Anfragen je Benutzer"}, {kJapanese, "利用者ごと"}};
  serve({shop});
  check();
  for (const char* none : {"", "it", "*"}) {
    const std::string answer = check(R"("user": "u1")", none);
    EXPECT_EQ(field(answer, "Content-Language"), "de") << answer;
    EXPECT_EQ(field(answer, "Vary"), "Accept, Accept-Language");
    EXPECT_TRUE(holds(answer, "das Limit „Anfragen je Benutzer“; bitte warten Sie 100 Sekunden"));
  }
  EXPECT_TRUE(holds(check(R"("user": "u1")", "ja"), "制限「利用者ごと」"));
  EXPECT_TRUE(holds(check(R"("user": "u1")", "en"), R"(the limit \"Anfragen je Benutzer\")"));
  // Without a verdict, too.
  EXPECT_EQ(field(ask("/v1/refusal", ""), "Content-Language"), "de");
}

TEST_F(HttpAnswers, HeadersAreInTheDialectsOfThePolicy) {
  Ruleset shop = rules_of("shop");
  shop.answers.headers = {2};
  Ruleset blog = rules_of("blog");
  blog.answers.headers = {3, 0};
  Ruleset mute = rules_of("mute");
  mute.answers.headers = {};
  serve({shop, blog, mute});
  std::string answer = check();
  EXPECT_EQ(field(answer, "X-RateLimit-Limit"), "1");
  EXPECT_EQ(field(answer, "X-RateLimit-Remaining"), "0");
  EXPECT_EQ(field(answer, "X-RateLimit-Reset"), "100");
  EXPECT_EQ(field(answer, "RateLimit"), "");
  answer = check(R"("user": "u1")", "", "", "blog");
  EXPECT_EQ(field(answer, "X-RateLimit-Reset"), "1796040101");  // 12:01:40.25, rounded up
  EXPECT_EQ(field(answer, "RateLimit"), R"("per-user";r=0;t=100)");
  answer = check(R"("user": "u1")", "", "", "mute");
  EXPECT_FALSE(holds(answer, "RateLimit")) << answer;
  answer = check(R"("user": "u1")", "", "", "mute");
  EXPECT_FALSE(holds(answer, "RateLimit")) << answer;
  EXPECT_EQ(field(answer, "Retry-After"), "100");
}

TEST_F(HttpAnswers, ARefusalIsWrittenDownAgainAsThePolicyWantsIt) {
  Ruleset shop = rules_of("shop");
  shop.answers = {{2}, kGerman, 503};
  shop.limits[0].titles = {{kGerman, "Anfragen je Benutzer"}};
  shop.sources = {{*shop.find_attribute("user"), "x-user-id"}};
  serve({shop, rules_of("blog")});
  const auto forward = [&] {
    return ask("/v1/forward-auth?domain=shop&deny_status=403", "X-User-Id: u1\r\n");
  };
  EXPECT_TRUE(forward().starts_with("HTTP/1.1 200 "));
  const std::string refused = forward();
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 403 ")) << refused;
  const std::string token = "X-Suimon-Verdict: " + field(refused, "X-Suimon-Verdict") + "\r\n";
  const std::string again = ask("/v1/refusal", token);
  // 403 was for the proxy; the client is told what the policy says.
  EXPECT_TRUE(again.starts_with("HTTP/1.1 503 ")) << again;
  EXPECT_TRUE(holds(again, "Anfragen je Benutzer"));
  EXPECT_EQ(field(again, "Content-Language"), "de");
  for (const char* name : {"X-RateLimit-Limit", "X-RateLimit-Reset", "Retry-After"}) {
    EXPECT_EQ(field(again, name), field(refused, name)) << name;
    EXPECT_NE(field(again, name), "") << name;
  }
  // The domain has gone since: what the token says is still told.
  serve({rules_of("blog")});
  const std::string late = ask("/v1/refusal", token);
  EXPECT_TRUE(late.starts_with("HTTP/1.1 503 ")) << late;
  EXPECT_TRUE(holds(late, R"(the limit \"per-user\"; wait 100 seconds)"));
}

TEST_F(HttpAnswers, ABatchOverSeveralDomainsNamesAllItsLanguages) {
  Ruleset shop = rules_of("shop");
  shop.answers.language = kGerman;
  Ruleset blog = rules_of("blog");
  blog.answers.language = kJapanese;
  blog.answers.deny_status = 403;
  serve({shop, blog});
  const auto one = [](const char* domain) {
    return std::string(R"({"domain": ")") + domain + R"(", "attributes": {"user": "u1"}})";
  };
  const std::string all =
      "[" + one("shop") + "," + one("shop") + "," + one("blog") + "," + one("blog") + "]";
  std::string answer = ask("/v1/check/batch", "", all);
  EXPECT_EQ(field(answer, "Content-Language"), "ja, de") << answer;
  EXPECT_TRUE(holds(answer, "100 Sekunden") && holds(answer, "100秒")) << answer;
  EXPECT_TRUE(holds(answer, R"("status":429)") && holds(answer, R"("status":403)")) << answer;
  answer = ask("/v1/check/batch", "Accept-Language: ko\r\n", all);
  EXPECT_EQ(field(answer, "Content-Language"), "ko") << answer;
}

}  // namespace
}  // namespace suimon::door
