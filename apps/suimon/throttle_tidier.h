// Gives numbers back that calls such as CL.THROTTLE have taken for parameters that nobody uses any
// more (engine/throttle_sets.h), step by step, twice a minute.
//
// Thread rule: the thread of the loop that it is given.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>

#include "apps/suimon/worker.h"
#include "suimon/engine/throttle_sets.h"
#include "suimon/net/loop.h"

namespace suimon::app {

class ThrottleTidier final : net::TimerTarget {
 public:
  // `workers` are those that decide; they outlive this.
  ThrottleTidier(net::Loop& loop, ThrottleSets& sets,
                 std::span<const std::unique_ptr<Worker>> workers);
  ~ThrottleTidier();
  ThrottleTidier(const ThrottleTidier&) = delete;
  ThrottleTidier& operator=(const ThrottleTidier&) = delete;

 private:
  void on_timer(Instant now) override;

  net::Loop& loop_;
  ThrottleSets& sets_;
  std::span<const std::unique_ptr<Worker>> workers_;
  // How many workers have not been between two wake-ups since the last step; shared with them.
  std::shared_ptr<std::atomic<std::size_t>> behind_;
  net::Timers::Id timer_;
};

}  // namespace suimon::app
