#include "suimon/observe/metrics.h"

#include <gtest/gtest.h>

#include "suimon/base/clock.h"
#include "suimon/engine/engine.h"
#include "suimon/policy/loader.h"
#include "suimon/store/reference.h"

namespace suimon {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 2> kListeners = {"http", "admin"};

class MetricsTest : public testing::Test {
 protected:
  MetricsTest() {
    Loaded loaded = load_policy_text(
        "version: 1\ndomain: shop\nlimits:\n  - name: a\n    key: [user]\n"
        "    token_bucket: {capacity: 1, refill: 1/min}\n",
        "p.yaml");
    EXPECT_TRUE(loaded.ok());
    EXPECT_TRUE(live_.install(std::move(loaded.policy), Instant{}));
  }

  void ask(LoopCounters& counters, std::string_view domain = "") {
    ManualClock clock;
    Engine engine(live_, store_, counters, clock);
    const Attribute user{"user", "u"};
    const Request request{domain, {&user, 1}, 1};
    engine.decide({&request, 1}, 0, {[](void*, std::span<const Verdict>) {}, nullptr});
  }

  bool shows(std::string_view line) const {
    return metrics_.render().find("\n" + std::string(line) + "\n") != std::string::npos;
  }

  ReferenceStore store_{{}};
  LivePolicy live_{store_, Secret{{1, 2}}};
  Metrics metrics_{live_, store_, kListeners, /*doors=*/1, "1.2.3"};
};

TEST_F(MetricsTest, EveryLimitIsAtZeroFromLoad) {
  EXPECT_TRUE(
      shows(R"(suimon_limit_decisions_total{domain="shop",limit="a",verdict="allowed"} 0)"));
  EXPECT_TRUE(shows(R"(suimon_requests_total{door="http",domain="shop",verdict="limited"} 0)"));
  EXPECT_TRUE(shows(R"(suimon_build_info{version="1.2.3"} 1)"));
}

TEST_F(MetricsTest, LoopsAreSummedAtScrape) {
  LoopCounters& one = metrics_.add_loop();
  LoopCounters& two = metrics_.add_loop();
  ask(one);
  ask(two);
  ask(two);
  ask(two, "elsewhere");
  EXPECT_TRUE(shows(R"(suimon_requests_total{door="http",domain="shop",verdict="allowed"} 1)"));
  EXPECT_TRUE(shows(R"(suimon_requests_total{door="http",domain="shop",verdict="limited"} 2)"));
  EXPECT_TRUE(shows(R"(suimon_requests_total{door="http",domain="",verdict="error"} 1)"));
  EXPECT_TRUE(
      shows(R"(suimon_limit_decisions_total{domain="shop",limit="a",verdict="limited"} 2)"));
  EXPECT_TRUE(shows("suimon_table_entries 1"));
}

TEST_F(MetricsTest, DurationsFallIntoTheirBuckets) {
  LoopCounters& loop = metrics_.add_loop();
  loop.measured(0, 1us, 2);
  loop.measured(0, 1001ns, 1);
  loop.measured(0, 5s, 1);
  EXPECT_TRUE(shows(R"(suimon_check_duration_seconds_bucket{door="http",le="1e-06"} 2)"));
  EXPECT_TRUE(shows(R"(suimon_check_duration_seconds_bucket{door="http",le="2.5e-06"} 3)"));
  EXPECT_TRUE(shows(R"(suimon_check_duration_seconds_bucket{door="http",le="1"} 3)"));
  EXPECT_TRUE(shows(R"(suimon_check_duration_seconds_bucket{door="http",le="+Inf"} 4)"));
  EXPECT_TRUE(shows(R"(suimon_check_duration_seconds_count{door="http"} 4)"));
}

TEST_F(MetricsTest, WhatHappensToConnectionsIsShownForEveryListener) {
  LoopCounters& one = metrics_.add_loop();
  LoopCounters& two = metrics_.add_loop();
  one.connections(0).refused.set(2);
  two.connections(0).refused.set(3);
  two.connections(1).timed_out.set(4);
  two.connections(1).accept_failures.set(1);
  EXPECT_TRUE(shows(R"(suimon_connections_refused_total{door="http"} 5)"));
  EXPECT_TRUE(shows(R"(suimon_connections_refused_total{door="admin"} 0)"));
  EXPECT_TRUE(shows(R"(suimon_connections_timed_out_total{door="admin"} 4)"));
  EXPECT_TRUE(shows(R"(suimon_accept_failures_total{door="admin"} 1)"));
}

TEST_F(MetricsTest, BadRequestsAreShownByStatusForEveryListenerFromZeroOn) {
  LoopCounters& one = metrics_.add_loop();
  LoopCounters& two = metrics_.add_loop();
  one.connections(0).bad_requests[0].set(2);
  two.connections(0).bad_requests[0].set(3);
  two.connections(1).bad_requests[4].set(1);
  EXPECT_TRUE(shows(R"(suimon_bad_requests_total{door="http",status="400"} 5)"));
  EXPECT_TRUE(shows(R"(suimon_bad_requests_total{door="admin",status="400"} 0)"));
  EXPECT_TRUE(shows(R"(suimon_bad_requests_total{door="admin",status="408"} 1)"));
  EXPECT_TRUE(shows(R"(suimon_bad_requests_total{door="http",status="505"} 0)"));
}

TEST_F(MetricsTest, C33a_AFailedReloadIsSeen) {
  metrics_.reloaded(true, 1000);
  EXPECT_TRUE(shows(R"(suimon_config_reloads_total{result="failure"} 0)"));
  EXPECT_TRUE(shows("suimon_config_last_reload_successful 1"));
  metrics_.reloaded(false, 2000);
  EXPECT_TRUE(shows(R"(suimon_config_reloads_total{result="failure"} 1)"));
  EXPECT_TRUE(shows("suimon_config_last_reload_successful 0"));
  EXPECT_TRUE(shows("suimon_config_last_success_timestamp_seconds 1000"));
}

TEST_F(MetricsTest, WhatAShadowWouldRefuseIsCountedApart) {
  Loaded loaded = load_policy_text(
      "version: 1\ndomain: shop\nlimits:\n  - name: s\n    shadow: true\n    key: [user]\n"
      "    token_bucket: {capacity: 1, refill: 1/min}\n",
      "p.yaml");
  ASSERT_TRUE(live_.install(std::move(loaded.policy), Instant{}));
  LoopCounters& loop = metrics_.add_loop();
  ask(loop);
  ask(loop);
  ask(loop);
  const auto count = [](const std::string& verdict, int n) {
    return "suimon_limit_decisions_total{domain=\"shop\",limit=\"s\",verdict=\"" + verdict +
           "\"} " + std::to_string(n);
  };
  EXPECT_TRUE(shows(count("allowed", 1)));
  EXPECT_TRUE(shows(count("shadow_limited", 2)));
  EXPECT_TRUE(shows(count("limited", 0)));
  EXPECT_TRUE(shows(R"(suimon_requests_total{door="http",domain="shop",verdict="allowed"} 3)"));
}

TEST_F(MetricsTest, WhoIsRefusedMostIsSummedOverLoops) {
  LoopCounters& one = metrics_.add_loop();
  LoopCounters& two = metrics_.add_loop();
  EXPECT_TRUE(metrics_.top_keys(Instant{}).empty());
  ask(one);
  EXPECT_TRUE(metrics_.top_keys(Instant{}).empty()) << "who is allowed is nobody's business";
  ask(one);
  ask(two);
  ask(two);
  const auto top = metrics_.top_keys(Instant{});
  ASSERT_EQ(top.size(), 1U);
  EXPECT_EQ(top[0].at_least, 3U);
  EXPECT_EQ(live_.shapes()[top[0].shape].limit, "shop/a");
}

TEST_F(MetricsTest, AStoreThatDoesNotAnswerIsCounted) {
  LoopCounters& loop = metrics_.add_loop();
  EXPECT_TRUE(shows(R"(suimon_store_errors_total{store="reference"} 0)"));
  Verdict verdict;
  verdict.status = Verdict::Status::store_failed;
  loop.decided(0, verdict);
  verdict.status = Verdict::Status::bad_path;
  loop.decided(0, verdict);
  EXPECT_TRUE(shows(R"(suimon_store_errors_total{store="reference"} 1)"));
}

}  // namespace
}  // namespace suimon
