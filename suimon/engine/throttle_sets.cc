#include "suimon/engine/throttle_sets.h"

#include <string>

namespace suimon {
namespace {

constexpr std::string_view kLimit = "cl.throttle";

// What a word of nanoseconds can hold (detail::word_scale()): 146 years.
constexpr std::uint64_t kLongestFill = std::uint64_t{1} << 62;

detail::uint128 fill_ns(const ThrottleSet& set) {
  return static_cast<detail::uint128>(set.capacity) *
         static_cast<std::uint64_t>(set.interval.count());
}

Limit parameters_of(const ThrottleSet& set) {
  return {.capacity = set.capacity, .refill = {.tokens = 1, .period = set.interval}};
}

}  // namespace

ThrottleSets::ThrottleSets(Shapes& shapes, Store& store, const Secret& secret,
                           std::mutex& numbering)
    : shapes_(shapes), store_(store), numbering_(numbering) {
  for (std::size_t i = 0; i < hash_keys_.size(); ++i) {
    hash_keys_[i] = derive(secret, "table", kThrottleNames[i]);
  }
}

Result<ShapeNumber> ThrottleSets::number_of(const ThrottleSet& set, Instant now) {
  if (set.capacity == 0 || set.interval.count() <= 0) {
    return failure("a bucket needs a capacity and a rate above 0");
  }
  if (fill_ns(set) >= kLongestFill) {
    return failure("this bucket would need more than 146 years to fill");
  }
  const std::lock_guard lock(numbering_);
  const auto found = known_.find(set);
  if (found != known_.end()) {
    found->second.asked_in = generation();
    return found->second.shape->number;
  }
  auto shape = fresh(set, now);
  if (!shape) return tl::unexpected(shape.error());
  known_[set] = {*shape, generation(), now};
  used_.store(known_.size(), std::memory_order_relaxed);
  return (*shape)->number;
}

Result<const Shape*> ThrottleSets::fresh(const ThrottleSet& set, Instant now) {
  if (known_.size() + leaving_.size() + forgotten_.size() >= kMost) {
    turned_away_.fetch_add(1, std::memory_order_relaxed);
    return failure("4096 other sets of parameters are in use; try again later");
  }
  const Shape* shape = nullptr;
  if (!free_.empty()) {
    shape = free_.back();
    free_.pop_back();
    shapes_.restate(*shape, parameters_of(set), now);
  } else {
    auto assigned = shapes_.assign(kLimit, std::to_string(made_), Algorithm::token_bucket,
                                   parameters_of(set), now);
    if (!assigned) return tl::unexpected(assigned.error());
    ++made_;
    shape = *assigned;
  }
  if (auto adopted = store_.adopt({&shape, 1}); !adopted) {
    free_.push_back(shape);
    return tl::unexpected(adopted.error());
  }
  return shape;
}

void ThrottleSets::tidy(Instant now) {
  if (pending_[(generation() + 1) % 2].load(std::memory_order_acquire) != 0) return;
  const std::lock_guard lock(numbering_);
  free_.insert(free_.end(), forgotten_.begin(), forgotten_.end());
  forgotten_ = std::move(leaving_);
  leaving_.clear();
  if (!forgotten_.empty()) store_.forget(forgotten_);
  for (auto at = known_.begin(); at != known_.end();) {
    Known& known = at->second;
    const Duration fill(static_cast<std::int64_t>(fill_ns(at->first)));
    // A number that was asked for in the generation before may have been charged until a moment
    // ago.
    if (known.asked_in + 1 >= generation()) known.used_until = now;
    if (known.used_until + fill >= now) {
      ++at;
      continue;
    }
    leaving_.push_back(known.shape);
    at = known_.erase(at);
  }
  used_.store(known_.size(), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
}

}  // namespace suimon
