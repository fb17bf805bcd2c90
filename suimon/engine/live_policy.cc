#include "suimon/engine/live_policy.h"

namespace suimon {

Result<PolicyChanges> LivePolicy::install(Policy policy, Instant now) {
  const std::lock_guard lock(numbering_);
  reclaim_numbers();
  // Numbering is not undone, so what cannot be numbered whole is not begun.
  std::size_t needed = 0;
  for (const Ruleset& ruleset : policy.rulesets) {
    for (const LimitRule& rule : ruleset.limits) {
      for (const Bucket& bucket : rule.buckets) {
        const bool one = shapes_.needs_new_number(ruleset.domain + "/" + rule.name, bucket.tier,
                                                  rule.algorithm, bucket.parameters);
        needed += one ? 1 : 0;
      }
    }
  }
  if (shapes_.size() + needed > Shapes::kMost) {
    if (converted_.empty()) {
      return failure(
          "the changes since the start have used up the 16384 numbers for limits; "
          "restart to load this policy");
    }
    put_in_force(*current());
    return failure(
        "the latest changes hold too many of the 16384 numbers for limits; load it once more, in a "
        "moment");
  }
  if (auto numbered = number(policy, now); !numbered) {
    half_numbered_ = true;
    return tl::unexpected(numbered.error());
  }
  PolicyChanges changes = changes_between(current().get(), policy);
  put_in_force(std::move(policy));
  return changes;
}

Result<void> LivePolicy::number(Policy& policy, Instant now) {
  for (Ruleset& ruleset : policy.rulesets) {
    auto shapes = ruleset.number_shapes(shapes_, secret_, now);
    if (!shapes) return tl::unexpected(shapes.error());
    if (auto adopted = store_.adopt(*shapes); !adopted) return tl::unexpected(adopted.error());
  }
  return {};
}

void LivePolicy::put_in_force(Policy policy) {
  std::shared_ptr<const Policy> after(new Policy(std::move(policy)),
                                      [gone = gone_](const Policy* ended) {
                                        delete ended;
                                        gone->fetch_add(1, std::memory_order_release);
                                      });
  const std::lock_guard lock(mutex_);
  current_.swap(after);
  generation_.fetch_add(1, std::memory_order_release);
}

void LivePolicy::reclaim_numbers() {
  // A shape that came into the registry beside the policy in force may not be known to the store.
  if (half_numbered_) return;
  const std::uint64_t generation = generation_.load(std::memory_order_relaxed);
  const bool only_this_one = gone_->load(std::memory_order_acquire) + 1 == generation;
  if (!only_this_one) return;
  if (converted_.empty()) {
    if (shapes_.used() < Shapes::kMost / 2) return;
    std::vector<const Shape*> replaced = shapes_.replaced();
    if (replaced.empty() || !store_.convert_replaced()) return;
    converted_ = std::move(replaced);
    converted_in_ = generation;
  } else if (converted_in_ != generation) {
    store_.forget(converted_);
    shapes_.release(converted_);
    converted_.clear();
  }
}

std::shared_ptr<const Policy> LivePolicy::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

}  // namespace suimon
