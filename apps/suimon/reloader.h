// Reads the policy again: when its files change, on a signal, and when somebody asks.
//
// After the last event the files must have been quiet for kQuiet, and closed by whoever writes to
// them, so that half a file is not loaded; but no longer than kPatience after the first. Where the
// system gives no inotify the files are looked at every kLookEvery. A policy with mistakes changes
// nothing.
//
// Thread rule: one loop's thread, which also installs; only request() is for any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "apps/suimon/watch.h"
#include "suimon/base/siphash.h"
#include "suimon/engine/live_policy.h"
#include "suimon/observe/metrics.h"

namespace suimon::app {

// How a reload ended. Its texts name limits and places in files, never a client.
struct Reloaded {
  // What changed; or why nothing did, and then `mistakes` may say more.
  Result<PolicyChanges> outcome;
  std::vector<std::string> mistakes;       // "limits.yaml:3:5: …"
  std::vector<std::string> warnings;       // the same
  std::vector<std::string> needs_restart;  // "server.http": settings that differ from the start
};

class Reloader final : net::TimerTarget {
 public:
  static constexpr Duration kQuiet = std::chrono::milliseconds(75);
  static constexpr Duration kPatience = std::chrono::seconds(2);
  static constexpr Duration kLookEvery = std::chrono::seconds(2);
  static constexpr std::size_t kMostWaiting = 64;

  using Done = std::function<void(const Reloaded&)>;

  // `loaded`: content_fingerprint(path) from just before the running policy was read;
  // `needs_restart`: the names of settings that a file now has otherwise than the program was
  // started with; `installed` is called after each reload.
  // `secrets` reads the files of the secrets that a policy names.
  using ReadSecrets = std::function<Result<Secrets>(const Settings& file)>;
  using NeedsRestart = std::function<std::vector<std::string>(const Settings& file)>;
  Reloader(net::Loop& loop, std::string path, Hash128 loaded, NeedsRestart needs_restart,
           ReadSecrets secrets, LivePolicy& policy, Metrics& metrics,
           std::function<void()> installed);
  ~Reloader();
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;

  // Begins to look for changes; those since the policy was read count.
  void watch();

  // Has the policy read again, whether it changed or not, and `done` called with the outcome on
  // the loop's thread, where it must not take long: it may hand the outcome on, as by
  // net::Loop::post(). All who wait at one time share one reload. False, and nothing happens, when
  // kMostWaiting wait already or the program is ending. Any thread.
  bool request(Done done);

  // Answers those who wait that the program is ending, and does not read the policy again.
  void close();

 private:
  void on_timer(Instant now) override;
  void changed();
  void look();
  void look_from_time_to_time();
  void answer();
  void reload_if_changed();
  Reloaded reload();

  net::Loop& loop_;
  const std::string path_;
  const NeedsRestart needs_restart_;
  const ReadSecrets secrets_;
  LivePolicy& policy_;
  Metrics& metrics_;
  const std::function<void()> installed_;
  Hash128 loaded_;  // what was read last, good or bad
  Hash128 looked_;  // the files' looks, where they are looked at from time to time
  std::unique_ptr<Watch> watch_;
  bool looking_ = false;  // instead of watching
  std::optional<Instant> first_event_;
  net::Timers::Id due_;
  net::Timers::Id next_look_;
  std::mutex mutex_;
  std::vector<Done> waiting_;  // under mutex_
  bool closed_ = false;        // under mutex_
};

}  // namespace suimon::app
