// What the replay tests share: policies made by hand, log lines, and the sample logs.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "suimon/replay/replay.h"

namespace suimon::replay_tests {

// A limit of `capacity` tokens with `tokens` more every `seconds`, by the attributes named.
inline LimitRule& add_limit(Ruleset& ruleset, const std::string& name, const Limit& parameters,
                            const std::vector<std::string>& key) {
  LimitRule& rule = ruleset.limits.emplace_back();
  rule.name = name;
  rule.buckets.push_back({.tier = "", .parameters = parameters});
  for (const std::string& attribute : key) {
    if (!ruleset.find_attribute(attribute)) ruleset.attributes.push_back(attribute);
    rule.key.push_back(*ruleset.find_attribute(attribute));
  }
  return rule;
}

inline Limit bucket(std::uint64_t capacity, std::uint64_t tokens, int seconds) {
  return {.capacity = capacity, .refill = {tokens, std::chrono::seconds(seconds)}};
}

inline Policy per_client(const Limit& parameters) {
  Policy policy;
  policy.rulesets.emplace_back().domain = "test";
  add_limit(policy.rulesets[0], "per-client", parameters, {"client_ip"});
  return policy;
}

inline Report replayed(Policy policy, const std::vector<LogFile>& logs,
                       const ReplaySettings& settings = {
                           .domain = "", .secret = {{1, 2}}, .show_keys = true}) {
  auto report = replay(std::move(policy), logs, settings);
  if (!report) {
    ADD_FAILURE() << report.error().text;
    return {};
  }
  return *std::move(report);
}

// A line of this client on 1 March 2024, at 12:mm:ss UTC.
inline std::string line(const std::string& client, int second,
                        const std::string& request = "GET / HTTP/1.1",
                        const std::string& user = "-") {
  char time[64];
  std::snprintf(time, sizeof time, "01/Mar/2024:12:%02d:%02d +0000", second / 60, second % 60);
  return client + " - " + user + " [" + time + "] \"" + request + "\" 200 5\n";
}

// The folder of the sample logs, which are not part of the project; empty when it is absent.
inline std::filesystem::path sample_logs() {
  const char* named = std::getenv("SUIMON_SHARED");
  const std::filesystem::path shared =
      named != nullptr ? std::filesystem::path(named)
                       : std::filesystem::path(SUIMON_SOURCE_DIR) / ".." / "shared";
  const std::filesystem::path logs = shared / "data" / "logs";
  return std::filesystem::is_directory(logs) ? logs : std::filesystem::path();
}

}  // namespace suimon::replay_tests

// Ends a test where the sample logs are absent.
#define SUIMON_NEEDS_SAMPLE_LOGS()                                                      \
  if (suimon::replay_tests::sample_logs().empty()) {                                    \
    GTEST_SKIP() << "the sample logs are not here; name their folder by SUIMON_SHARED"; \
  }
