#include "apps/suimon/top/figures.h"

#include <simdjson.h>

#include <algorithm>

#include "suimon/observe/exposition.h"

namespace suimon::app {
namespace {

namespace dom = simdjson::dom;

std::size_t verdict_of(const Sample& sample) {
  const auto found = std::find(kVerdicts.begin(), kVerdicts.end(), sample.label("verdict"));
  return static_cast<std::size_t>(found - kVerdicts.begin());
}

void note(const Sample& sample, Figures& figures) {
  const std::size_t verdict = verdict_of(sample);
  const bool judged = verdict < kVerdicts.size();
  const std::string& name = sample.name;
  if (name == "suimon_requests_total" && judged) figures.requests[verdict] += sample.value;
  if (name == "suimon_limit_decisions_total" && judged) {
    const LimitName limit{std::string(sample.label("domain")), std::string(sample.label("limit"))};
    figures.limits[limit][verdict] += sample.value;
  }
  if (name == "suimon_table_entries") figures.entries = sample.value;
  if (name == "suimon_table_bytes") figures.bytes = sample.value;
  if (name == "suimon_table_evictions_total") figures.evictions = sample.value;
  if (name == "suimon_table_overflow_total") figures.overflows = sample.value;
  if (name == "suimon_config_last_reload_successful") figures.reload_successful = sample.value == 1;
  if (name == "suimon_config_last_success_timestamp_seconds") figures.last_success = sample.value;
  if (name == "suimon_build_info") figures.version = sample.label("version");
}

std::string text_of(const dom::element& object, std::string_view name) {
  std::string_view text;
  return object[name].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

std::uint64_t number_of(const dom::element& object, std::string_view name) {
  std::uint64_t number = 0;
  return object[name].get(number) == simdjson::SUCCESS ? number : 0;
}

bool read_top(std::string_view json, std::vector<RefusedKey>& top) {
  dom::parser parser;
  dom::element root;
  dom::array limits;
  if (parser.parse(json).get(root) != simdjson::SUCCESS ||
      root["limits"].get(limits) != simdjson::SUCCESS) {
    return false;
  }
  for (const dom::element limit : limits) {
    const LimitName name{text_of(limit, "domain"), text_of(limit, "limit")};
    dom::array keys;
    if (limit["keys"].get(keys) != simdjson::SUCCESS) return false;
    for (const dom::element key : keys) {
      top.push_back(
          {name, text_of(key, "hash"), number_of(key, "refused"), number_of(key, "at_most")});
    }
  }
  std::stable_sort(top.begin(), top.end(),
                   [](const RefusedKey& a, const RefusedKey& b) { return a.refused > b.refused; });
  return true;
}

ByVerdict rate(const ByVerdict& before, const ByVerdict& after, double seconds) {
  ByVerdict rates{};
  for (std::size_t i = 0; i < rates.size(); ++i) {
    // A counter that is smaller than before belongs to a daemon that was started anew.
    rates[i] = std::max(0.0, after[i] - before[i]) / seconds;
  }
  return rates;
}

}  // namespace

Result<Figures> read_figures(std::string_view metrics, std::string_view top, Instant at) {
  const auto samples = parse_exposition(metrics);
  if (!samples) return failure("/metrics: " + samples.error().text);
  Figures figures;
  figures.at = at;
  for (const Sample& sample : *samples) note(sample, figures);
  if (!read_top(top, figures.top)) return failure("/v1/top: the answer is not what it should be");
  return figures;
}

Rates rates_between(const Figures& before, const Figures& after) {
  Rates rates;
  rates.seconds = std::chrono::duration<double>(after.at - before.at).count();
  if (rates.seconds <= 0) return rates;
  rates.requests = rate(before.requests, after.requests, rates.seconds);
  for (const auto& [name, counts] : after.limits) {
    const auto earlier = before.limits.find(name);
    if (earlier == before.limits.end()) continue;
    rates.limits[name] = rate(earlier->second, counts, rates.seconds);
  }
  return rates;
}

}  // namespace suimon::app
