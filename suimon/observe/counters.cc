#include "suimon/observe/counters.h"

#include <algorithm>

namespace suimon {

void DurationCounters::add(Duration each, std::uint64_t count) {
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), each.count());
  buckets_[static_cast<std::size_t>(bound - kBounds.begin())].add(count);
  sum_ns_.add(count * static_cast<std::uint64_t>(std::max<std::int64_t>(0, each.count())));
}

LoopCounters::LoopCounters()
    : limits_(std::make_unique<std::array<LimitCounters, Shapes::kMost>>()) {}

RequestCounters& LoopCounters::requests_of(DoorId door, const Ruleset* ruleset) {
  const std::string_view domain = ruleset == nullptr ? std::string_view{} : ruleset->domain;
  for (const auto& counters : requests_) {
    if (counters->door == door && counters->domain == domain) return *counters;
  }
  auto added = std::make_unique<RequestCounters>();
  added->domain = domain;
  added->door = door;
  const std::lock_guard lock(mutex_);
  return *requests_.emplace_back(std::move(added));
}

void LoopCounters::decided(DoorId door, const Verdict& verdict) {
  RequestCounters& requests = requests_of(door, verdict.ruleset);
  if (verdict.status != Verdict::Status::decided) {
    requests.errors.add();
    if (verdict.status == Verdict::Status::store_failed) store_failures_.add();
    return;
  }
  requests.by_outcome[static_cast<std::size_t>(verdict.outcome)].add();
  if (verdict.unasked != 0) [[unlikely]]
    unasked_.add(verdict.unasked);
  if (verdict.decided_locally != 0) [[unlikely]]
    decided_locally_.add(verdict.decided_locally);
  for (std::size_t i = 0; i < verdict.applied.size(); ++i) {
    const auto outcome = static_cast<std::size_t>(verdict.outcome_of(i));
    (*limits_)[verdict.applied[i].bucket->shape].by_outcome[outcome].add();
    if (i < verdict.decisions.size() && !verdict.decisions[i].allowed()) [[unlikely]] {
      const Charge& charge = verdict.charges[i];
      top_keys_.add(charge.shape, charge.key, verdict.at);
    }
  }
  for (std::size_t i = 0; i < verdict.shadows.applied.size(); ++i) {
    LimitCounters& limit = (*limits_)[verdict.shadows.applied[i].bucket->shape];
    const bool allowed = verdict.shadows.outcome_of(i) == Outcome::allowed;
    (allowed ? limit.by_outcome[0] : limit.shadow_limited).add();
  }
}

}  // namespace suimon
