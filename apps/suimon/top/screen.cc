#include "apps/suimon/top/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "suimon/base/json.h"

namespace suimon::app {
namespace {

enum Verdict : std::size_t { kAllowed, kLimited, kNever, kShadowLimited, kError };

std::string plain(std::string_view text) {
  std::string shown(text.substr(0, 64));
  for (char& c : shown) c = c < 0x20 || c > 0x7e ? '?' : c;
  return shown;
}

std::string ago(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "at an unknown time";
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 120) return fmt::format("{} s ago", whole);
  if (whole < 7200) return fmt::format("{} min ago", whole / 60);
  return fmt::format("{} h ago", whole / 3600);
}

// Limits with the most refusals first.
std::vector<const std::pair<const LimitName, ByVerdict>*> by_refusals(const Figures& figures,
                                                                      const Rates& rates) {
  std::vector<const std::pair<const LimitName, ByVerdict>*> order;
  order.reserve(figures.limits.size());
  for (const auto& limit : figures.limits) order.push_back(&limit);
  const auto rank = [&](const auto* limit) {
    const auto found = rates.limits.find(limit->first);
    const double now =
        found == rates.limits.end() ? 0 : found->second[kLimited] + found->second[kNever];
    return std::pair(now, limit->second[kLimited] + limit->second[kNever]);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto* a, const auto* b) { return rank(a) > rank(b); });
  return order;
}

// All but one of the verdicts: requests are never limited by shadows, limits never err.
void append_counts(const ByVerdict& totals, const ByVerdict& rates, Verdict without,
                   std::string& out) {
  for (std::size_t i = 0; i < kVerdicts.size(); ++i) {
    if (i == without) continue;
    fmt::format_to(std::back_inserter(out), "{}\"{}\":{{\"total\":{:.0f},\"per_second\":{:.3f}}}",
                   i == 0 ? "" : ",", kVerdicts[i], totals[i], rates[i]);
  }
}

// NaN and infinity are no JSON, and no count.
double finite(double value) { return std::isfinite(value) ? value : 0; }

}  // namespace

std::string screen_of(const Figures& figures, const Rates& rates, std::string_view server,
                      std::time_t now, const ScreenSize& size) {
  std::vector<std::string> lines;
  const double since = static_cast<double>(now) - figures.last_success;
  lines.push_back(fmt::format("suimon {} at {}", plain(figures.version), plain(server)));
  lines.push_back(
      fmt::format("policy    loaded {}{}", ago(since),
                  figures.reload_successful ? "" : "; the last reload FAILED, see the log"));
  lines.push_back(
      fmt::format("table     {:.0f} keys, {:.0f} bytes, {:.0f} evicted, {:.0f} overflowed",
                  figures.entries, figures.bytes, figures.evictions, figures.overflows));
  lines.push_back(
      fmt::format("requests  {:.1f}/s allowed, {:.1f}/s limited, {:.1f}/s never, {:.1f}/s error",
                  rates.requests[kAllowed], rates.requests[kLimited], rates.requests[kNever],
                  rates.requests[kError]));
  lines.emplace_back();
  lines.push_back(fmt::format("{:<32} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}", "LIMIT", "ALLOWED/S",
                              "LIMITED/S", "NEVER/S", "ALLOWED", "LIMITED", "SHADOW"));
  for (const auto* limit : by_refusals(figures, rates)) {
    const auto found = rates.limits.find(limit->first);
    const ByVerdict rate = found == rates.limits.end() ? ByVerdict{} : found->second;
    lines.push_back(fmt::format("{:<32} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.0f} {:>9.0f} {:>9.0f}",
                                plain(limit->first.domain + "/" + limit->first.limit),
                                rate[kAllowed], rate[kLimited], rate[kNever],
                                limit->second[kAllowed], limit->second[kLimited],
                                limit->second[kShadowLimited]));
  }
  if (!figures.top.empty()) {
    lines.emplace_back();
    lines.push_back(fmt::format("{:<32} {:<32} {:>12}", "REFUSED MOST OF LATE", "KEY", "TIMES"));
  }
  for (const RefusedKey& key : figures.top) {
    lines.push_back(fmt::format("{:<32} {:<32} {:>12}",
                                plain(key.limit.domain + "/" + key.limit.limit), plain(key.hash),
                                key.refused));
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(lines.size(), size.rows); ++i) {
    out += lines[i].substr(0, size.columns);
    out += '\n';
  }
  return out;
}

std::string json_of(const Figures& figures, const Rates& rates) {
  std::string out = fmt::format("{{\"interval_s\":{:.3f},\"version\":", rates.seconds);
  append_json_string(out, figures.version);
  out += ",\"requests\":{";
  append_counts(figures.requests, rates.requests, kShadowLimited, out);
  out += "},\"limits\":[";
  bool first = true;
  for (const auto* limit : by_refusals(figures, rates)) {
    const auto found = rates.limits.find(limit->first);
    out += first ? "{\"domain\":" : ",{\"domain\":";
    first = false;
    append_json_string(out, limit->first.domain);
    out += ",\"limit\":";
    append_json_string(out, limit->first.limit);
    out += ',';
    append_counts(limit->second, found == rates.limits.end() ? ByVerdict{} : found->second, kError,
                  out);
    out += '}';
  }
  fmt::format_to(std::back_inserter(out),
                 "],\"table\":{{\"entries\":{:.0f},\"bytes\":{:.0f},\"evictions\":{:.0f},"
                 "\"overflows\":{:.0f}}},\"reload\":{{\"successful\":{},\"last_success\":{:.0f}}},"
                 "\"top\":[",
                 finite(figures.entries), finite(figures.bytes), finite(figures.evictions),
                 finite(figures.overflows), figures.reload_successful,
                 finite(figures.last_success));
  first = true;
  for (const RefusedKey& key : figures.top) {
    out += first ? "{\"domain\":" : ",{\"domain\":";
    first = false;
    append_json_string(out, key.limit.domain);
    out += ",\"limit\":";
    append_json_string(out, key.limit.limit);
    out += ",\"hash\":";
    append_json_string(out, key.hash);
    fmt::format_to(std::back_inserter(out), ",\"refused\":{},\"at_most\":{}}}", key.refused,
                   key.at_most);
  }
  return out + "]}";
}

}  // namespace suimon::app
