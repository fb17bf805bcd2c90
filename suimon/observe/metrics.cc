#include "suimon/observe/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace suimon {
namespace {

constexpr std::array<std::string_view, 3> kVerdicts = {"allowed", "limited", "never"};

template <class... Parts>
void line(std::string& out, fmt::format_string<Parts...> format, Parts&&... parts) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Parts>(parts)...);
  out.push_back('\n');
}

void describe(std::string& out, std::string_view name, std::string_view type,
              std::string_view help) {
  line(out, "# HELP {} {}", name, help);
  line(out, "# TYPE {} {}", name, type);
}

// Names in a policy need no escaping: they are [A-Za-z0-9._-].
std::pair<std::string_view, std::string_view> split_name(std::string_view domain_and_limit) {
  const auto slash = domain_and_limit.find('/');
  if (slash == std::string_view::npos) return {{}, domain_and_limit};  // of no policy
  return {domain_and_limit.substr(0, slash), domain_and_limit.substr(slash + 1)};
}

}  // namespace

LoopCounters& Metrics::add_loop() { return *loops_.emplace_back(std::make_unique<LoopCounters>()); }

void Metrics::reloaded(bool successful, std::int64_t unix_seconds) {
  (successful ? reloads_ok_ : reloads_failed_).fetch_add(1, std::memory_order_relaxed);
  last_reload_ok_.store(successful, std::memory_order_relaxed);
  if (successful) last_success_.store(unix_seconds, std::memory_order_relaxed);
}

std::vector<TopKey> Metrics::top_keys(Instant now) const {
  std::map<Key, TopKey> merged;
  for (const auto& loop : loops_) {
    loop->top_keys().each(now, [&](const TopKey& found) {
      TopKey& sum =
          merged.try_emplace(found.key, TopKey{found.key, found.shape, 0, 0}).first->second;
      sum.at_least += found.at_least;
      sum.at_most += found.at_most;
    });
  }
  std::vector<TopKey> keys;
  keys.reserve(merged.size());
  for (const auto& [key, found] : merged) keys.push_back(found);
  std::stable_sort(keys.begin(), keys.end(), [](const TopKey& a, const TopKey& b) {
    return std::pair(a.at_least, a.at_most) > std::pair(b.at_least, b.at_most);
  });
  return keys;
}

std::string Metrics::render() const {
  std::string out;
  render_requests(out);
  render_limits(out);
  render_durations(out);
  render_connections(out);
  render_bad_requests(out);
  render_store(out);
  render_remote(out);
  render_reloads(out);
  describe(out, "suimon_build_info", "gauge", "Always 1; the labels tell the version.");
  line(out, "suimon_build_info{{version=\"{}\"}} 1", version_);
  return out;
}

void Metrics::render_requests(std::string& out) const {
  std::map<std::pair<DoorId, std::string>, std::array<std::uint64_t, 4>> sums;
  if (const auto policy = policy_.current()) {
    for (const Ruleset& ruleset : policy->rulesets) {
      for (std::size_t door = 0; door < doors_.size(); ++door) {
        sums[{static_cast<DoorId>(door), ruleset.domain}];  // at 0 from load
      }
    }
  }
  for (const auto& loop : loops_) {
    loop->each_request_counter([&](const RequestCounters& counters) {
      auto& sum = sums[{counters.door, counters.domain}];
      for (std::size_t i = 0; i < kVerdicts.size(); ++i) sum[i] += counters.by_outcome[i].value();
      sum[3] += counters.errors.value();
    });
  }
  describe(out, "suimon_requests_total", "counter", "Requests decided, by door and verdict.");
  for (const auto& [place, sum] : sums) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      line(out, "suimon_requests_total{{door=\"{}\",domain=\"{}\",verdict=\"{}\"}} {}",
           doors_[place.first], place.second, i < kVerdicts.size() ? kVerdicts[i] : "error",
           sum[i]);
    }
  }
}

void Metrics::render_limits(std::string& out) const {
  std::map<std::string, std::array<std::uint64_t, 4>, std::less<>> sums;
  const Shapes& shapes = policy_.shapes();
  const std::size_t count = shapes.size();
  for (std::size_t number = 0; number < count; ++number) {
    auto& sum = sums[shapes[static_cast<ShapeNumber>(number)].limit];
    for (const auto& loop : loops_) {
      const LimitCounters& counters = loop->limit(static_cast<ShapeNumber>(number));
      for (std::size_t i = 0; i < 3; ++i) sum[i] += counters.by_outcome[i].value();
      sum[3] += counters.shadow_limited.value();
    }
  }
  describe(out, "suimon_limit_decisions_total", "counter", "Decisions of each limit.");
  for (const auto& [name, sum] : sums) {
    const auto [domain, limit] = split_name(name);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      line(out, "suimon_limit_decisions_total{{domain=\"{}\",limit=\"{}\",verdict=\"{}\"}} {}",
           domain, limit, i < kVerdicts.size() ? kVerdicts[i] : "shadow_limited", sum[i]);
    }
  }
}

void Metrics::render_durations(std::string& out) const {
  describe(out, "suimon_check_duration_seconds", "histogram",
           "From the wake-up that brought a check to its answer.");
  for (std::size_t door = 0; door < doors_.size(); ++door) {
    std::uint64_t cumulative = 0;
    std::uint64_t sum_ns = 0;
    for (const auto& loop : loops_) sum_ns += loop->durations(static_cast<DoorId>(door)).sum_ns();
    for (std::size_t i = 0; i <= DurationCounters::kBounds.size(); ++i) {
      for (const auto& loop : loops_) {
        cumulative += loop->durations(static_cast<DoorId>(door)).in_bucket(i);
      }
      const std::string bound =
          i < DurationCounters::kBounds.size()
              ? fmt::format("{}", static_cast<double>(DurationCounters::kBounds[i]) / 1e9)
              : "+Inf";
      line(out, "suimon_check_duration_seconds_bucket{{door=\"{}\",le=\"{}\"}} {}", doors_[door],
           bound, cumulative);
    }
    line(out, "suimon_check_duration_seconds_sum{{door=\"{}\"}} {}", doors_[door],
         static_cast<double>(sum_ns) / 1e9);
    line(out, "suimon_check_duration_seconds_count{{door=\"{}\"}} {}", doors_[door], cumulative);
  }
}

void Metrics::render_connections(std::string& out) const {
  struct Family {
    std::string_view name;
    std::string_view help;
    Counter ConnectionCounters::* counter;
  };
  constexpr std::array<Family, 5> kFamilies = {{
      {"suimon_connections_refused_total",
       "Connections closed because all places or buffers were taken.",
       &ConnectionCounters::refused},
      {"suimon_connections_timed_out_total",
       "Connections closed because their client was too slow or idle for too long.",
       &ConnectionCounters::timed_out},
      {"suimon_accept_failures_total",
       "Connections that could not be accepted for want of a descriptor or memory.",
       &ConnectionCounters::accept_failures},
      {"suimon_handshake_failures_total",
       "Connections closed because TLS or the PROXY header went wrong.",
       &ConnectionCounters::handshake_failures},
      {"suimon_calls_refused_total",
       "Calls on open connections turned away because all places or buffers were taken.",
       &ConnectionCounters::refused_calls},
  }};
  for (const Family& family : kFamilies) {
    describe(out, family.name, "counter", family.help);
    for (std::size_t listener = 0; listener < listeners_.size(); ++listener) {
      std::uint64_t sum = 0;
      for (const auto& loop : loops_) {
        sum += (std::as_const(*loop).connections(listener).*family.counter).value();
      }
      line(out, "{}{{door=\"{}\"}} {}", family.name, listeners_[listener], sum);
    }
  }
}

void Metrics::render_bad_requests(std::string& out) const {
  describe(out, "suimon_bad_requests_total", "counter",
           "Requests that were wrong in themselves, by the status of their answer.");
  for (std::size_t listener = 0; listener < listeners_.size(); ++listener) {
    for (std::size_t i = 0; i < kBadStatuses.size(); ++i) {
      std::uint64_t sum = 0;
      for (const auto& loop : loops_) {
        sum += std::as_const(*loop).connections(listener).bad_requests[i].value();
      }
      line(out, "suimon_bad_requests_total{{door=\"{}\",status=\"{}\"}} {}", listeners_[listener],
           kBadStatuses[i], sum);
    }
  }
}

void Metrics::render_store(std::string& out) const {
  const StoreFigures figures = store_.figures();
  describe(out, "suimon_table_entries", "gauge", "Keys that have state.");
  line(out, "suimon_table_entries {}", figures.entries);
  describe(out, "suimon_table_bytes", "gauge", "Memory of the table.");
  line(out, "suimon_table_bytes {}", figures.bytes);
  describe(out, "suimon_table_evictions_total", "counter",
           "States that owed something and had to go.");
  line(out, "suimon_table_evictions_total {}", figures.evictions);
  describe(out, "suimon_table_overflow_total", "counter",
           "Charges that met a full table and went to their limit's overflow bucket.");
  line(out, "suimon_table_overflow_total {}", figures.overflows);
  std::uint64_t failures = 0;
  std::uint64_t unasked = 0;
  std::uint64_t local = 0;
  for (const auto& loop : loops_) {
    failures += loop->store_failures();
    unasked += loop->unasked();
    local += loop->decided_locally();
  }
  const auto remote = store_.remote_figures();
  if (remote) failures = remote->errors;
  describe(out, "suimon_store_errors_total", "counter", "Requests that the store did not decide.");
  line(out, "suimon_store_errors_total{{store=\"{}\"}} {}", store_.name(), failures);
  describe(out, "suimon_store_fallbacks_total", "counter",
           "Limits that answered without the store, by on_store_error.");
  line(out, "suimon_store_fallbacks_total{{answer=\"local\"}} {}", local);
  line(out, "suimon_store_fallbacks_total{{answer=\"allow\"}} {}", unasked);
}

void Metrics::render_remote(std::string& out) const {
  const auto remote = store_.remote_figures();
  if (!remote) return;
  const std::string_view store = store_.name();
  describe(out, "suimon_store_request_duration_seconds", "histogram",
           "How long the store took to answer a batch.");
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < RemoteFigures::kBounds.size(); ++i) {
    count += remote->round_trips[i];
    line(out, "suimon_store_request_duration_seconds_bucket{{store=\"{}\",le=\"{}\"}} {}", store,
         static_cast<double>(RemoteFigures::kBounds[i]) / 1e9, count);
  }
  count += remote->round_trips.back();
  line(out, "suimon_store_request_duration_seconds_bucket{{store=\"{}\",le=\"+Inf\"}} {}", store,
       count);
  line(out, "suimon_store_request_duration_seconds_sum{{store=\"{}\"}} {}", store,
       static_cast<double>(remote->round_trips_ns) / 1e9);
  line(out, "suimon_store_request_duration_seconds_count{{store=\"{}\"}} {}", store, count);
  describe(out, "suimon_store_events_total", "counter", "What happened on the way to the store.");
  for (const RemoteFigures::Event& event : remote->events) {
    line(out, "suimon_store_events_total{{store=\"{}\",event=\"{}\"}} {}", store, event.name,
         event.count);
  }
  describe(out, "suimon_store_unavailable", "gauge",
           "Connections to servers that are not asked now, because they failed.");
  line(out, "suimon_store_unavailable{{store=\"{}\"}} {}", store, remote->unavailable);
}

void Metrics::render_reloads(std::string& out) const {
  describe(out, "suimon_config_reloads_total", "counter", "Policies loaded, by result.");
  line(out, "suimon_config_reloads_total{{result=\"success\"}} {}",
       reloads_ok_.load(std::memory_order_relaxed));
  line(out, "suimon_config_reloads_total{{result=\"failure\"}} {}",
       reloads_failed_.load(std::memory_order_relaxed));
  describe(out, "suimon_config_last_reload_successful", "gauge", "1 if the last load succeeded.");
  line(out, "suimon_config_last_reload_successful {}",
       last_reload_ok_.load(std::memory_order_relaxed) ? 1 : 0);
  describe(out, "suimon_config_last_success_timestamp_seconds", "gauge",
           "When a policy was last loaded, in Unix time.");
  line(out, "suimon_config_last_success_timestamp_seconds {}",
       last_success_.load(std::memory_order_relaxed));
  describe(out, "suimon_shapes_used", "gauge",
           "Numbers for parameters of limits in use; a changed limit takes new ones.");
  line(out, "suimon_shapes_used {}", policy_.shapes().used());
  const ThrottleSets& sets = policy_.throttles();
  describe(out, "suimon_throttle_sets", "gauge",
           "Sets of parameters that calls such as CL.THROTTLE have brought, in use.");
  line(out, "suimon_throttle_sets {}", sets.used());
  describe(out, "suimon_throttle_sets_refused_total", "counter",
           "Calls that were refused because too many other sets were in use.");
  line(out, "suimon_throttle_sets_refused_total {}", sets.turned_away());
  describe(out, "suimon_shapes_max", "gauge", "The most of them; then no change can be loaded.");
  line(out, "suimon_shapes_max {}", Shapes::kMost);
  describe(out, "suimon_secret_rotation", "gauge",
           "1 while states under the previous secret are accepted.");
  line(out, "suimon_secret_rotation {}", policy_.is_rotating() ? 1 : 0);
}

}  // namespace suimon
