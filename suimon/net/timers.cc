#include "suimon/net/timers.h"

namespace suimon::net {

Timers::Id Timers::add(Instant at, TimerTarget& target) {
  if (target.armed_ >= kMaxPerTarget) return {};
  const Id id{at, ++last_};
  deadlines_.emplace(id, &target);
  ++target.armed_;
  return id;
}

void Timers::cancel(const Id& id) {
  const auto found = deadlines_.find(id);
  if (found == deadlines_.end()) return;
  --found->second->armed_;
  deadlines_.erase(found);
}

std::optional<Instant> Timers::next() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first.at;
}

std::size_t Timers::fire(Instant now) {
  const std::uint64_t last_before = last_;
  std::size_t fired = 0;
  auto at = deadlines_.begin();
  while (at != deadlines_.end() && at->first.at <= now) {
    const auto [id, target] = *at;
    if (id.number > last_before) {
      ++at;
      continue;
    }
    --target->armed_;
    deadlines_.erase(at);
    ++fired;
    target->on_timer(now);
    // Anything may have been added or cancelled; what is due and old lies behind this one.
    at = deadlines_.upper_bound(id);
  }
  return fired;
}

}  // namespace suimon::net
