#include "suimon/engine/live_policy.h"

#include <map>

namespace suimon {
namespace {

using Parameters = std::vector<std::pair<std::string, Limit>>;

// Every limit by name, with what a bucket of it may hold.
std::map<std::string, Parameters> parameters_of(const Policy* policy) {
  std::map<std::string, Parameters> all;
  if (policy == nullptr) return all;
  for (const Ruleset& ruleset : policy->rulesets) {
    for (const LimitRule& rule : ruleset.limits) {
      Parameters& buckets = all[ruleset.domain + "/" + rule.name];
      for (const Bucket& bucket : rule.buckets)
        buckets.emplace_back(bucket.tier, bucket.parameters);
    }
  }
  return all;
}

PolicyChanges compare(const Policy* before, const Policy& after) {
  const auto old_limits = parameters_of(before);
  const auto new_limits = parameters_of(&after);
  PolicyChanges changes;
  for (const auto& [name, parameters] : new_limits) {
    const auto old = old_limits.find(name);
    if (old == old_limits.end()) {
      changes.added.push_back(name);
    } else if (old->second != parameters) {
      changes.changed.push_back(name);
    }
  }
  for (const auto& [name, parameters] : old_limits) {
    if (!new_limits.contains(name)) changes.removed.push_back(name);
  }
  return changes;
}

}  // namespace

Result<PolicyChanges> LivePolicy::install(Policy policy, Instant now) {
  // Numbering is not undone, so what cannot be numbered whole is not begun.
  std::size_t changed = 0;
  for (const Ruleset& ruleset : policy.rulesets) {
    for (const LimitRule& rule : ruleset.limits) {
      for (const Bucket& bucket : rule.buckets) {
        const bool same = shapes_.unchanged(ruleset.domain + "/" + rule.name, bucket.tier,
                                            rule.algorithm, bucket.parameters) != nullptr;
        changed += same ? 0 : 1;
      }
    }
  }
  if (shapes_.size() + changed > Shapes::kMost) {
    return failure(
        "the changes since the start have used up the 16384 numbers for limits; "
        "restart to load this policy");
  }
  for (Ruleset& ruleset : policy.rulesets) {
    auto shapes = ruleset.number_shapes(shapes_, secret_, now);
    if (!shapes) return tl::unexpected(shapes.error());
    if (auto adopted = store_.adopt(*shapes); !adopted) return tl::unexpected(adopted.error());
  }
  const std::shared_ptr<const Policy> before = current();
  PolicyChanges changes = compare(before.get(), policy);
  auto after = std::make_shared<const Policy>(std::move(policy));
  const std::lock_guard lock(mutex_);
  current_ = std::move(after);
  generation_.fetch_add(1, std::memory_order_release);
  return changes;
}

std::shared_ptr<const Policy> LivePolicy::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

}  // namespace suimon
