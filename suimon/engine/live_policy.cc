#include "suimon/engine/live_policy.h"

namespace suimon {
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
  PolicyChanges changes = changes_between(before.get(), policy);
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
