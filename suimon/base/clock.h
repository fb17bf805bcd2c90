// Clocks as values: whoever needs the time is handed one, so a test can hand in its own.
#pragma once

#include "suimon/time.h"

namespace suimon {

// Thread rule: now() may be called by any thread, unless a clock says otherwise.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
};

// CLOCK_BOOTTIME: what all decisions are made on.
class BootClock final : public Clock {
 public:
  Instant now() const override { return boot_now(); }
};

// The time of day: nanoseconds since 1970-01-01 UTC. It may step back. For what people and other
// machines are told; nothing is decided on it.
class WallClock final : public Clock {
 public:
  Instant now() const override {
    return Instant(std::chrono::system_clock::now().time_since_epoch());
  }
};

// A clock that moves only when told to. For one thread.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Instant start = {}) : now_(start) {}
  Instant now() const override { return now_; }
  void set(Instant now) { now_ = now; }
  void advance(Duration by) { now_ = now_ + by; }

 private:
  Instant now_;
};

}  // namespace suimon
