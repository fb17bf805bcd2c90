#include "apps/suimon/throttle_tidier.h"

namespace suimon::app {
namespace {

constexpr Duration kEvery = std::chrono::seconds(30);

}  // namespace

ThrottleTidier::ThrottleTidier(net::Loop& loop, ThrottleSets& sets,
                               std::span<const std::unique_ptr<Worker>> workers)
    : loop_(loop),
      sets_(sets),
      workers_(workers),
      behind_(std::make_shared<std::atomic<std::size_t>>(0)),
      timer_(loop.timers().add(loop.clock().now() + kEvery, *this)) {}

ThrottleTidier::~ThrottleTidier() { loop_.timers().cancel(timer_); }

void ThrottleTidier::on_timer(Instant now) {
  timer_ = loop_.timers().add(now + kEvery, *this);
  if (behind_->load(std::memory_order_acquire) != 0) return;
  sets_.tidy(now);
  behind_->store(workers_.size(), std::memory_order_relaxed);
  for (const auto& worker : workers_) {
    // What is posted runs between calls of a door, none of which is under way then. Where it cannot
    // be posted, the next step waits for ever, which only costs numbers.
    worker->post([behind = behind_] { behind->fetch_sub(1, std::memory_order_release); });
  }
}

}  // namespace suimon::app
