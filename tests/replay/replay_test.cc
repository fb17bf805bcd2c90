#include "suimon/replay/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/replay/scenes.h"

namespace suimon {
namespace {

using namespace replay_tests;

ReplaySettings hashed() { return {.domain = "", .secret = {{1, 2}}}; }

TEST(Replay, BucketIsFullAtItsFirstLineAndEarnsOverLogTime) {
  // Two tokens, one more every 5 s: the level before each line is 2, 1, 0.2, 0.8, 1, 0.
  const LogFile log{"log", line("192.0.2.1", 0) + line("192.0.2.1", 0) + line("192.0.2.1", 1) +
                               line("192.0.2.1", 4) + line("192.0.2.1", 5) + line("192.0.2.1", 5)};
  const Report report = replayed(per_client(bucket(2, 1, 5)), {log});
  EXPECT_EQ(report.requests, 6U);
  EXPECT_EQ(report.allowed, 3U);
  EXPECT_EQ(report.refused, 3U);
  EXPECT_EQ(report.clients, 1U);
  EXPECT_EQ(report.clients_refused, 1U);
  EXPECT_EQ(report.first, 1709294400);  // 2024-03-01T12:00:00Z
  EXPECT_EQ(report.last, 1709294405);
}

TEST(Replay, C39FilesAndLinesAreTakenInTheOrderOfTheirTimes) {
  const LogFile late{"late", line("192.0.2.1", 40) + line("192.0.2.1", 10)};
  const LogFile early{"early",
                      line("192.0.2.1", 30) + line("192.0.2.1", 0) + line("192.0.2.1", 20)};
  // In time order each token is back when the next line comes; in file order it is not.
  const Report report = replayed(per_client(bucket(1, 1, 10)), {late, early});
  EXPECT_EQ(report.refused, 0U);
  EXPECT_EQ(report.first, 1709294400);
  EXPECT_EQ(report.last, 1709294440);
}

TEST(Replay, C39LinesOfOneSecondStayInTheOrderOfTheFiles) {
  // Client .1 has one token, so only the first of its lines is charged to its path.
  const LogFile a{"a", line("192.0.2.1", 5, "GET /1 HTTP/1.1") + line("192.0.2.9", 1) +
                           line("192.0.2.1", 5, "GET /2 HTTP/1.1")};
  const LogFile b{"b", line("192.0.2.1", 5, "GET /3 HTTP/1.1")};
  const LogFile later{"later", line("192.0.2.2", 6, "GET /3 HTTP/1.1") +
                                   line("192.0.2.3", 6, "GET /2 HTTP/1.1") +
                                   line("192.0.2.4", 6, "GET /1 HTTP/1.1")};
  Policy policy = per_client(bucket(1, 1, 60));
  add_limit(policy.rulesets[0], "per-path", bucket(1, 1, 60), {"path"});
  const Report report = replayed(std::move(policy), {later, a, b});
  EXPECT_EQ(report.limits[0].refused, 2U);
  EXPECT_EQ(report.limits[1].refused, 1U);
  ASSERT_EQ(report.limits[1].worst.size(), 1U);
  EXPECT_EQ(report.limits[1].worst[0].key, "/1");
}

TEST(Replay, BrokenLinesInTheMiddleAreCountedNamedAndPassedOver) {
  std::string text = line("192.0.2.1", 0) + "\n" + "garbage\n" + line("192.0.2.1", 0);
  for (int i = 0; i < 20; ++i) text += "192.0.2.1 - - [99/Mar/2024:12:00:00 +0000] \"\" 200 5\n";
  text += line("192.0.2.2", 1);
  text += line("192.0.2.3", 1).substr(0, 40);  // the last line is cut short
  const Report report = replayed(per_client(bucket(1, 1, 60)), {{"access.log", text}});
  EXPECT_EQ(report.requests, 3U);
  EXPECT_EQ(report.bad_lines, 23U);
  EXPECT_EQ(report.refused, 1U);
  ASSERT_EQ(report.bad_line_reasons.size(), Report::kBadLinesNamed);
  EXPECT_EQ(report.bad_line_reasons[0],
            "access.log:2: column 1: expected a host; the line is empty, read the end of the line");
  EXPECT_TRUE(report.bad_line_reasons[1].starts_with("access.log:3: column 8: expected a space"));
  EXPECT_TRUE(report.bad_line_reasons[2].starts_with("access.log:5: column 16: expected a day"));
}

TEST(Replay, LastLineNeedsNoEnd) {
  std::string text = line("192.0.2.1", 0);
  text.pop_back();
  EXPECT_EQ(replayed(per_client(bucket(1, 1, 60)), {{"log", text}}).requests, 1U);
  EXPECT_EQ(replayed(per_client(bucket(1, 1, 60)), {{"log", text + "\r\n"}}).requests, 1U);
}

TEST(Replay, EmptyLogIsAReportOfNothing) {
  const Report report = replayed(per_client(bucket(1, 1, 60)), {{"log", ""}});
  EXPECT_EQ(report.requests, 0U);
  EXPECT_EQ(report.bad_lines, 0U);
  EXPECT_EQ(report.first, std::nullopt);
  ASSERT_EQ(report.limits.size(), 1U);
  EXPECT_EQ(report.limits[0].keys, 0U);
}

TEST(Replay, ListsGoByTheTrustRuleAndIpv6ByItsPrefix) {
  Policy policy = per_client(bucket(1, 1, 60));
  policy.rulesets[0].client_ip.trusted_proxies = {*parse_range("10.0.0.0/8")};
  const std::string text = line("192.0.2.7, 10.0.0.1", 0) +           // 192.0.2.7
                           line("\"192.0.2.7\" 10.0.0.9", 0) +        // the same
                           line("6.6.6.6, 192.0.2.7, 10.0.0.1", 0) +  // and with a forged part
                           line("\"192.0.2.7\" 198.51.100.1", 0) +    // a peer that is not ours
                           line("2001:db8:1:2::1", 0) + line("2001:DB8:1:2:0:0:0:A", 0) +
                           line("2001:db8:1:3::1", 0) +
                           line("\"192.0.2.8\" unix:", 0) +  // a unix socket is local
                           line("unix:", 0) + line("Host.example", 0) + line("Host.example", 0) +
                           line("\"192.0.2.7\" Host.example", 0);
  const Report report = replayed(std::move(policy), {{"log", text}});
  EXPECT_EQ(report.bad_lines, 0U);
  EXPECT_EQ(report.clients, 7U);
  std::map<std::string, std::uint64_t> worst;
  for (const auto& one : report.limits[0].worst) worst[one.key] = one.refused;
  EXPECT_EQ(worst, (std::map<std::string, std::uint64_t>{
                       {"192.0.2.7", 2}, {"2001:db8:1:2::/64", 1}, {"Host.example", 2}}));
}

TEST(Replay, AbsentFieldsAreMissingAttributes) {
  Policy policy;
  Ruleset& ruleset = policy.rulesets.emplace_back();
  ruleset.domain = "test";
  add_limit(ruleset, "skips", bucket(1, 1, 60), {"user"});
  add_limit(ruleset, "denies", bucket(9, 1, 60), {"user_agent"}).on_missing = OnMissing::deny;
  LimitRule& stands_in = add_limit(ruleset, "stands-in", bucket(1, 1, 60), {"user", "method"});
  stands_in.on_missing = OnMissing::substitute;
  stands_in.substitute = "anonymous";
  const std::string agent = " \"-\" \"curl\\x22 8\"\n";
  const auto with_agent = [&](std::string text) { return text.replace(text.size() - 1, 1, agent); };
  const std::string text = with_agent(line("192.0.2.1", 0)) +      // allowed
                           line("192.0.2.1", 0) +                  // no agent: refused
                           with_agent(line("192.0.2.1", 0)) +      // anonymous GET again
                           with_agent(line("192.0.2.1", 0, "")) +  // no method: allowed
                           with_agent(line("192.0.2.1", 0, "POST / HTTP/1.1", "bob"));
  const Report report = replayed(std::move(policy), {{"log", text}});
  EXPECT_EQ(report.requests, 5U);
  EXPECT_EQ(report.allowed, 3U);
  EXPECT_EQ(report.limits[0].keys, 1U);
  EXPECT_EQ(report.limits[0].allowed, 1U);
  EXPECT_EQ(report.limits[1].allowed, 4U);
  EXPECT_EQ(report.limits[1].refused, 1U);
  EXPECT_EQ(report.limits[1].keys, 1U);  // a missing key is no key
  EXPECT_EQ(report.limits[1].keys_refused, 0U);
  EXPECT_EQ(report.limits[2].keys, 3U);
  EXPECT_EQ(report.limits[2].refused, 2U);  // the line without an agent met an empty bucket, too
  ASSERT_EQ(report.limits[2].worst.size(), 1U);
  EXPECT_EQ(report.limits[2].worst[0].key, "anonymous, GET");
}

TEST(Replay, RefusalByOneLimitSpendsNothingOfAnother) {
  Policy policy;
  Ruleset& ruleset = policy.rulesets.emplace_back();
  ruleset.domain = "test";
  add_limit(ruleset, "group", bucket(10, 1, 3600), {});
  LimitRule& route = add_limit(ruleset, "route", bucket(3, 1, 3600), {"client_ip", "path"});
  route.match.push_back({.attribute = *ruleset.find_attribute("path"),
                         .globs = {},
                         .paths = {*PathPattern::make("/r/**")}});
  std::string text;
  for (int i = 0; i < 5; ++i) text += line("192.0.2.1", 0, "GET /r/./a?x=1 HTTP/1.1");
  for (int i = 0; i < 8; ++i) text += line("192.0.2.2", 1);
  const Report report = replayed(std::move(policy), {{"log", text}});
  EXPECT_EQ(report.allowed, 10U);
  EXPECT_EQ(report.refused, 3U);
  EXPECT_EQ(report.clients_refused, 2U);
  EXPECT_EQ(report.limits[0].refused, 1U);
  EXPECT_EQ(report.limits[1].refused, 2U);
  EXPECT_EQ(report.limits[1].allowed, 3U);
  ASSERT_EQ(report.limits[0].worst.size(), 1U);
  EXPECT_EQ(report.limits[0].worst[0].key, "");
  ASSERT_EQ(report.limits[1].worst.size(), 1U);
  EXPECT_EQ(report.limits[1].worst[0].key, "192.0.2.1, /r/a");
}

TEST(Replay, PathsThatCannotBeDecodedAreCountedApart) {
  Policy policy = per_client(bucket(1, 1, 60));
  add_limit(policy.rulesets[0], "per-path", bucket(1, 1, 60), {"path"});
  const std::string text = line("192.0.2.1", 0, "GET /%zz HTTP/1.1") +
                           line("192.0.2.1", 0, "CONNECT a:443 HTTP/1.1") + line("192.0.2.1", 0) +
                           line("192.0.2.1", 0, "");
  const Report report = replayed(std::move(policy), {{"log", text}});
  EXPECT_EQ(report.requests, 4U);
  EXPECT_EQ(report.bad_paths, 2U);
  EXPECT_EQ(report.allowed, 1U);
  EXPECT_EQ(report.refused, 1U);
  EXPECT_EQ(report.limits[0].allowed + report.limits[0].refused, 2U);
  // Where no limit looks at the path, no path is bad.
  EXPECT_EQ(replayed(per_client(bucket(1, 1, 60)), {{"log", text}}).bad_paths, 0U);
}

TEST(Replay, MoreLimitsThanARequestMayMeetAreCountedApart) {
  Policy policy;
  policy.rulesets.emplace_back().domain = "test";
  for (std::size_t i = 0; i <= kMostCharges; ++i) {
    add_limit(policy.rulesets[0], "limit-" + std::to_string(i), bucket(1, 1, 60), {"client_ip"});
  }
  const Report report = replayed(std::move(policy), {{"log", line("192.0.2.1", 0)}});
  EXPECT_EQ(report.requests, 1U);
  EXPECT_EQ(report.too_many_limits, 1U);
  EXPECT_EQ(report.allowed + report.refused, 0U);
}

TEST(Replay, FullStoreIsReported) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += line("192.0.2." + std::to_string(i), 0);
  ReplaySettings few = hashed();
  few.max_keys = 10;
  const Report report = replayed(per_client(bucket(1, 1, 60)), {{"log", text}}, few);
  EXPECT_EQ(report.overflows, 40U);
  EXPECT_EQ(report.refused, 39U);  // the forty share one bucket
  EXPECT_EQ(report.limits[0].keys, 50U);
  EXPECT_EQ(replayed(per_client(bucket(1, 1, 60)), {{"log", text}}, hashed()).overflows, 0U);
}

TEST(Replay, KeysAreHashesUnlessAskedFor) {
  const std::vector<LogFile> logs = {{"log", line("192.0.2.1", 0) + line("192.0.2.1", 0)}};
  const auto key = [&](const ReplaySettings& settings) {
    return replayed(per_client(bucket(1, 1, 60)), logs, settings).limits.at(0).worst.at(0).key;
  };
  const std::string hash = key(hashed());
  EXPECT_EQ(hash.size(), 32U);
  EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(hash, key(hashed()));
  EXPECT_NE(hash, key({.domain = "", .secret = {{3, 4}}}));
  // The hash under which every store knows this client of this limit.
  std::string encoded;
  append_part(encoded, "192.0.2.1");
  const Key known = key_of(derive_limit({{1, 2}}, "test/per-client"), encoded);
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(known.high),
                static_cast<unsigned long long>(known.low));
  EXPECT_EQ(hash, text);
}

TEST(Replay, WorstKeysAreFiveAndEqualsGoByTheirFirstRequest) {
  std::string text;
  for (const int client : {7, 3, 9, 1, 5, 8, 2}) {
    for (int i = 0; i < (client == 2 ? 4 : 2); ++i) {
      text += line("192.0.2." + std::to_string(client), 0);
    }
  }
  const Report report = replayed(per_client(bucket(1, 1, 60)), {{"log", text}});
  EXPECT_EQ(report.limits[0].keys_refused, 7U);
  std::vector<std::pair<std::string, std::uint64_t>> worst;
  for (const auto& one : report.limits[0].worst) worst.emplace_back(one.key, one.refused);
  EXPECT_EQ(worst, (std::vector<std::pair<std::string, std::uint64_t>>{{"192.0.2.2", 3},
                                                                       {"192.0.2.7", 1},
                                                                       {"192.0.2.3", 1},
                                                                       {"192.0.2.9", 1},
                                                                       {"192.0.2.1", 1}}));
}

TEST(Replay, OneDomainIsReplayedAndTheChoiceIsAskedFor) {
  Policy two = per_client(bucket(1, 1, 60));
  two.rulesets.push_back(two.rulesets[0]);
  two.rulesets[1].domain = "other";
  two.rulesets[1].limits[0].buckets[0].parameters = bucket(5, 1, 60);
  const std::vector<LogFile> logs = {{"log", line("192.0.2.1", 0) + line("192.0.2.1", 0)}};
  const auto unclear = replay(two, logs, hashed());
  ASSERT_FALSE(unclear);
  EXPECT_EQ(unclear.error().text,
            "the policy has 2 domains (test, other); replay one file of one domain");
  ReplaySettings settings = hashed();
  settings.domain = "nowhere";
  EXPECT_EQ(replay(two, logs, settings).error().text,
            "the policy has no domain nowhere; it has test, other");
  settings.domain = "other";
  EXPECT_EQ(replay(two, logs, settings)->refused, 0U);
  settings.domain = "test";
  EXPECT_EQ(replay(two, logs, settings)->refused, 1U);
}

// An independent count: a bucket as a fraction whose denominator is the period, per client, over
// times sorted by a different sort.
struct Counted {
  std::uint64_t refused = 0;
  std::map<std::string, std::uint64_t> by_client;
};

struct Line {
  std::int64_t second;
  std::size_t place;
  std::string client;
};

Counted count(std::vector<Line> lines, std::int64_t capacity, std::int64_t tokens,
              std::int64_t period) {
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return std::tie(a.second, a.place) < std::tie(b.second, b.place);
  });
  struct State {
    std::int64_t level, at;
  };
  std::map<std::string, State> states;
  Counted counted;
  for (const Line& one : lines) {
    State& state =
        states.try_emplace(one.client, State{capacity * period, one.second}).first->second;
    state.level = std::min(capacity * period, state.level + (one.second - state.at) * tokens);
    state.at = one.second;
    if (state.level >= period) {
      state.level -= period;
    } else {
      ++counted.refused;
      ++counted.by_client[one.client];
    }
  }
  return counted;
}

TEST(Replay, CountsEqualAnIndependentExactCount) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr const char* kZones[] = {"+0000", "-0800", "+0545", "+1400"};
  constexpr int kOffsets[] = {0, -8 * 3600, 5 * 3600 + 45 * 60, 14 * 3600};
  for (int round = 0; round < 30; ++round) {
    std::vector<LogFile> logs = {{"a", ""}, {"b", ""}};
    std::vector<Line> lines;
    const std::size_t clients = 1 + random() % 30;
    // Bursts around a slowly growing time, up to a minute late, over a leap day at midnight.
    std::int64_t now = 1709164800 - 300;  // 2024-02-28T23:55:00Z
    std::size_t place = 0;
    for (LogFile& log : logs) {
      for (int i = 0; i < 500; ++i) {
        now += random() % 4 == 0 ? static_cast<int>(random() % 9) : 0;
        const std::int64_t second = now - (random() % 3 == 0 ? static_cast<int>(random() % 60) : 0);
        const std::string client = random() % clients % 3 == 0
                                       ? "host" + std::to_string(random() % clients)
                                       : "198.51.100." + std::to_string(random() % clients);
        const std::size_t zone = random() % 4;
        const std::time_t local = second + kOffsets[zone];
        std::tm parts{};
        ::gmtime_r(&local, &parts);
        char time[64];
        std::strftime(time, sizeof time, "%d/%b/%Y:%H:%M:%S ", &parts);
        log.text += client + " - - [" + time + kZones[zone] + "] \"GET / HTTP/1.1\" 200 5\n";
        lines.push_back({second, place++, client});
      }
    }
    const auto capacity = static_cast<std::int64_t>(1 + random() % 12);
    const auto tokens = static_cast<std::int64_t>(1 + random() % 20);
    const auto period = static_cast<std::int64_t>(1 + random() % 97);
    const Counted expected = count(lines, capacity, tokens, period);
    const Report report =
        replayed(per_client(bucket(static_cast<std::uint64_t>(capacity),
                                   static_cast<std::uint64_t>(tokens), static_cast<int>(period))),
                 logs);
    ASSERT_EQ(report.bad_lines, 0U) << report.bad_line_reasons.front();
    ASSERT_EQ(report.requests, lines.size());
    ASSERT_EQ(report.refused, expected.refused);
    ASSERT_EQ(report.clients_refused, expected.by_client.size());
    std::uint64_t most = 0;
    for (const auto& [client, refused] : expected.by_client) most = std::max(most, refused);
    for (const Report::Worst& worst : report.limits[0].worst) {
      ASSERT_EQ(worst.refused, expected.by_client.at(worst.key));
    }
    ASSERT_EQ(report.limits[0].worst.empty() ? 0U : report.limits[0].worst[0].refused, most);
  }
}

}  // namespace
}  // namespace suimon
