// The Prometheus page: every loop's counters summed at scrape, and figures that are read.
//
// Text exposition format 0.0.4 (Prometheus documentation, "Exposition formats"). Labels grow with
// rules, never with keys. Thread rule: add_loop() while starting; the rest by any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/engine/live_policy.h"
#include "suimon/observe/counters.h"
#include "suimon/store/store.h"

namespace suimon {

class Metrics {
 public:
  // `listeners`: the names of those that have connections; the first `doors` of them decide, and
  // their places are DoorIds.
  Metrics(const LivePolicy& policy, const Store& store, std::span<const std::string_view> listeners,
          std::size_t doors, std::string_view version)
      : policy_(policy),
        store_(store),
        listeners_(listeners),
        doors_(listeners.first(doors)),
        version_(version) {}

  LoopCounters& add_loop();

  // A reload ended; `unix_seconds` is the wall clock's time of it.
  void reloaded(bool successful, std::int64_t unix_seconds);

  std::string render() const;

  // The keys that were refused most of late, of all loops together, the most certain first.
  std::vector<TopKey> top_keys(Instant now) const;

 private:
  void render_requests(std::string& out) const;
  void render_limits(std::string& out) const;
  void render_durations(std::string& out) const;
  void render_connections(std::string& out) const;
  void render_bad_requests(std::string& out) const;
  void render_store(std::string& out) const;
  void render_remote(std::string& out) const;
  void render_reloads(std::string& out) const;

  const LivePolicy& policy_;
  const Store& store_;
  std::span<const std::string_view> listeners_;
  std::span<const std::string_view> doors_;
  std::string_view version_;
  std::vector<std::unique_ptr<LoopCounters>> loops_;
  std::atomic<std::uint64_t> reloads_ok_{0};
  std::atomic<std::uint64_t> reloads_failed_{0};
  std::atomic<bool> last_reload_ok_{false};
  std::atomic<std::int64_t> last_success_{0};
};

}  // namespace suimon
