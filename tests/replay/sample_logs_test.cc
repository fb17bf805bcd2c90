// Sample logs of the real world, where they are at hand: exact counts, and each line of a file of
// mixed shapes.
#include <gtest/gtest.h>

#include <algorithm>

#include "suimon/replay/records.h"
#include "tests/replay/scenes.h"

namespace suimon {
namespace {

using namespace replay_tests;

struct Counts {
  Limit limit;
  std::uint64_t refused;
  std::uint64_t clients_refused;
  std::string worst;  // "" when nobody was refused
  std::uint64_t worst_refused;
};

LogFile sample(const std::string& name) {
  auto log = read_log((sample_logs() / name).string(), std::uint64_t{1} << 30);
  if (!log) {
    ADD_FAILURE() << log.error().text;
    return {};
  }
  return *std::move(log);
}

void expect_counts(const std::string& name, std::uint64_t requests, std::uint64_t clients,
                   std::int64_t first, std::int64_t last, const std::vector<Counts>& all) {
  const std::vector<LogFile> logs = {sample(name)};
  for (const Counts& expected : all) {
    SCOPED_TRACE(name + ", capacity " + std::to_string(expected.limit.capacity));
    const Report report = replayed(per_client(expected.limit), logs);
    EXPECT_EQ(report.requests, requests);
    EXPECT_EQ(report.bad_lines, 0U);
    EXPECT_EQ(report.overflows, 0U);
    EXPECT_EQ(report.clients, clients);
    EXPECT_EQ(report.first, first);
    EXPECT_EQ(report.last, last);
    EXPECT_EQ(report.refused, expected.refused);
    EXPECT_EQ(report.allowed, requests - expected.refused);
    EXPECT_EQ(report.clients_refused, expected.clients_refused);
    ASSERT_EQ(report.limits.size(), 1U);
    const Report::OfLimit& limit = report.limits[0];
    EXPECT_EQ(limit.allowed, report.allowed);
    EXPECT_EQ(limit.refused, report.refused);
    EXPECT_EQ(limit.keys, clients);
    EXPECT_EQ(limit.keys_refused, expected.clients_refused);
    ASSERT_EQ(limit.worst.empty(), expected.worst.empty());
    if (limit.worst.empty()) continue;
    EXPECT_EQ(limit.worst[0].refused, expected.worst_refused);
    EXPECT_TRUE(std::any_of(limit.worst.begin(), limit.worst.end(), [&](const auto& worst) {
      return worst.key == expected.worst && worst.refused == expected.worst_refused;
    })) << limit.worst[0].key;
  }
}

TEST(SampleLogs, C39LinesOutOfOrderAreCountedByTheirTimes) {
  SUIMON_NEEDS_SAMPLE_LOGS();
  expect_counts("elastic_apache_2015.combined.log", 2600, 533, 1431857100, 1431936356,
                {{bucket(2, 1, 5), 355, 69, "198.19.1.121", 36},
                 {bucket(3, 1, 2), 82, 11, "198.19.1.121", 18},
                 {bucket(5, 1, 1), 4, 2, "198.19.1.23", 2},
                 {bucket(10, 10, 60), 154, 11, "198.19.1.121", 30},
                 {bucket(30, 30, 60), 0, 0, "", 0}});
}

TEST(SampleLogs, C39LinesInOrderWithHostNamesAsClients) {
  SUIMON_NEEDS_SAMPLE_LOGS();
  expect_counts("nasa_1995-07-01.clf.log", 9999, 936, 804571201, 804584384,
                {{bucket(2, 1, 5), 1215, 494, "h00232.example", 10},
                 {bucket(3, 1, 2), 104, 66, "h00092.example", 4},
                 {bucket(5, 1, 1), 0, 0, "", 0},
                 {bucket(10, 10, 60), 0, 0, "", 0},
                 {bucket(30, 30, 60), 0, 0, "", 0}});
}

TEST(SampleLogs, EveryShapeGivesItsClientAndItsTime) {
  SUIMON_NEEDS_SAMPLE_LOGS();
  const std::vector<LogFile> logs = {sample("formats_mixed.log")};
  ClientIpRule none;  // nobody but this machine is trusted
  ClientIpRule ten;
  ten.trusted_proxies = {*parse_range("10.0.0.0/8")};
  ClientIpRule hops;
  hops.trusted_hops = 2;
  struct Expected {
    const char* none;
    const char* ten;
    const char* hops;
    std::int64_t seconds;
    const char* target;
  };
  const std::vector<Expected> expected = {
      {"10.0.0.1", "10.0.0.2", "10.0.0.2", 1481105107, "/ocelot"},
      {"172.17.0.1", "172.17.0.1", "172.17.0.1", 1496084568, "/stringpatch"},
      {"198.51.100.98", "198.51.100.98", "10.0.0.2", 1481105107, "/ocelot"},
      {"10.2.1.185", "203.0.113.1", "198.51.100.1", 1453468709, "/assets/xxxx?q=100"},
      {"127.0.0.1", "127.0.0.1", "127.0.0.1", 1523519320, ""},
      {"::/64", "::/64", "::/64", 1482761789, "/favicon.ico"},
      {"192.168.33.1", "192.168.33.1", "192.168.33.1", 1482769333, "/hello"},
      {"192.168.64.1", "192.168.64.1", "192.168.64.1", 1581076131, "/products"},
  };
  Records records = read_records(logs, 10);
  EXPECT_EQ(records.bad_lines, 0U) << records.bad_line_reasons.front();
  ASSERT_EQ(records.in_order.size(), expected.size());
  // Back in the order of the file: the lines stand in one text.
  std::sort(records.in_order.begin(), records.in_order.end(),
            [](const Record& a, const Record& b) { return a.line < b.line; });
  std::array<char, 64> buffer;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE("line " + std::to_string(i + 1));
    const Record& record = records.in_order[i];
    EXPECT_EQ(client_of(record, none, buffer), expected[i].none);
    EXPECT_EQ(client_of(record, ten, buffer), expected[i].ten);
    EXPECT_EQ(client_of(record, hops, buffer), expected[i].hops);
    EXPECT_EQ(record.seconds, expected[i].seconds);
    EXPECT_EQ(record.text(record.target), expected[i].target);
    EXPECT_EQ(record.text(record.user), "-");
  }
}

}  // namespace
}  // namespace suimon
