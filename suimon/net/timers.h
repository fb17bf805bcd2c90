// Deadlines on a clock that is passed in.
//
// Nothing here reads a clock: fire(now) calls whatever is due by then, in the order of deadlines.
// A deadline never fires early. Thread rule: one thread. Complexity: O(log n).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "suimon/time.h"

namespace suimon::net {

// What a deadline calls. Its owner cancels its deadlines before it goes.
class TimerTarget {
 public:
  virtual void on_timer(Instant now) = 0;

 protected:
  TimerTarget() = default;
  ~TimerTarget() = default;

 private:
  friend class Timers;
  std::size_t armed_ = 0;
};

class Timers {
 public:
  // One target has at most this many deadlines at a time.
  static constexpr std::size_t kMaxPerTarget = 8;

  // The name of one deadline; never used twice.
  struct Id {
    Instant at;
    std::uint64_t number = 0;  // 0: no deadline
    friend constexpr auto operator<=>(const Id&, const Id&) = default;
  };

  // Calls target.on_timer once, at the first fire(now) with now >= at. A target that has
  // kMaxPerTarget deadlines already gets none: the Id's number is 0.
  Id add(Instant at, TimerTarget& target);

  // Forgets a deadline; nothing happens for one that has fired or was cancelled.
  void cancel(const Id& id);

  // The earliest deadline.
  std::optional<Instant> next() const;

  // Calls all targets that are due. They may add and cancel; what they add waits for the next
  // fire, even when it is due already. Returns how many were called.
  std::size_t fire(Instant now);

  std::size_t size() const { return deadlines_.size(); }

 private:
  std::map<Id, TimerTarget*> deadlines_;
  std::uint64_t last_ = 0;
};

}  // namespace suimon::net
