// The secrets of the daemon: reading their files, and one taking the place of another while clients
// are being served (engine/live_policy.h).
//
// Thread rule: the loop's thread, which also installs policies.
#pragma once

#include <chrono>
#include <ctime>
#include <functional>
#include <optional>

#include "suimon/engine/live_policy.h"
#include "suimon/net/loop.h"

namespace suimon::app {

class Rotation final : net::TimerTarget {
 public:
  // `told` makes all loops take up the policy in force.
  Rotation(net::Loop& loop, std::function<void()> told) : loop_(loop), told_(std::move(told)) {}
  ~Rotation() { loop_.timers().cancel(next_); }
  Rotation(const Rotation&) = delete;
  Rotation& operator=(const Rotation&) = delete;

  // Reads the files for the first time. A secret that is not there is made; where none can be kept,
  // one is drawn for this run.
  Result<Secrets> start(const StoreSettings& settings);
  // Reads them again.
  Result<Secrets> read(const StoreSettings& settings) const;

  // A policy was installed: logs what that means for the secret, and goes on with its replacement
  // until all loops are through.
  void follow(LivePolicy& policy);

 private:
  static constexpr Duration kStep = std::chrono::milliseconds(5);

  void on_timer(Instant now) override;

  net::Loop& loop_;
  const std::function<void()> told_;
  std::optional<Secret> of_this_run_;  // there is no file
  LivePolicy* policy_ = nullptr;
  std::optional<std::time_t> since_;  // when the replacement began
  std::time_t safe_at_ = 0;           // when the previous secret may go
  net::Timers::Id next_;
  bool waiting_ = false;
};

}  // namespace suimon::app
