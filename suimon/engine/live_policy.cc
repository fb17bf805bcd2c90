#include "suimon/engine/live_policy.h"

namespace suimon {

Result<PolicyChanges> LivePolicy::install(Policy policy, Instant now, const Secrets& secrets) {
  const bool running = current() != nullptr;
  const bool replaces = running && !(secrets.current == secrets_.current);
  if (replaces && !store_.carries_over()) {
    return failure(
        "the secret is another one than the running one, and this store does not carry states over "
        "to another secret; put the running secret back, or restart, and every client begins with "
        "a "
        "full bucket");
  }
  if (replaces && !(secrets.previous && *secrets.previous == secrets_.current)) {
    return failure(
        "the secret is another one than the running one, and the previous secret is not the "
        "running "
        "one, so every client would begin with a full bucket; let store: {previous_secret_file: "
        "...} name a file with the running secret, or restart");
  }
  const Secrets before = secrets_;
  const std::optional<Secret> next_before = next_;
  if (replaces) {
    next_ = secrets.current;
  } else {
    secrets_ = secrets;
    next_.reset();
  }
  auto installed = put_through(std::move(policy), now);
  if (!installed) {
    secrets_ = before;
    next_ = next_before;
    return installed;
  }
  rotating_.store(next_ || hashing().rekey != Rekey::none, std::memory_order_relaxed);
  return installed;
}

Result<PolicyChanges> LivePolicy::install(Policy policy, Instant now) {
  return put_through(std::move(policy), now);
}

bool LivePolicy::go_on() {
  if (!next_) return true;
  if (!is_alone()) return false;
  secrets_ = {.current = *next_, .previous = secrets_.current};
  next_.reset();
  Policy policy = *current();
  for (Ruleset& ruleset : policy.rulesets) ruleset.hash_under(hashing());
  put_in_force(std::move(policy));
  return true;
}

Hashing LivePolicy::hashing() const {
  if (next_) return {secrets_.current, Rekey::accept, *next_};
  if (!store_.carries_over() || !secrets_.previous || *secrets_.previous == secrets_.current)
    return {secrets_.current};
  return {secrets_.current, Rekey::move, *secrets_.previous};
}

// Whether nobody holds an earlier policy than the one in force.
bool LivePolicy::is_alone() const {
  return gone_->load(std::memory_order_acquire) + 1 == generation_.load(std::memory_order_relaxed);
}

Result<PolicyChanges> LivePolicy::put_through(Policy policy, Instant now) {
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
    auto shapes = ruleset.number_shapes(shapes_, secrets_.current, now);
    if (!shapes) return tl::unexpected(shapes.error());
    ruleset.hash_under(hashing());
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
  if (!is_alone()) return;
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
