// The policy in force, exchanged while decisions go on.
//
// A reload compiles a whole new Policy beside the running one and then puts it in its place: every
// decision sees one policy from beginning to end. Limits whose parameters did not change keep
// their shapes and so their state; changed ones get new shapes, and stores convert.
//
// Numbers of shapes come back. Who decides holds the policy by which it does; so when all earlier
// policies are gone, nothing is charged in a replaced shape any more, and the store converts all
// states that are left in one. Somebody may still be reading what was just converted: when the
// policy of that time is gone, too, nobody is, and the numbers are free.
//
// Thread rule: install() by one thread at a time; the rest by any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "suimon/engine/policy_changes.h"
#include "suimon/engine/throttle_sets.h"
#include "suimon/policy/ruleset.h"
#include "suimon/store/store.h"

namespace suimon {

class LivePolicy {
 public:
  LivePolicy(Store& store, const Secret& secret)
      : store_(store), secret_(secret), throttles_(shapes_, store, secret, numbering_) {}

  // Puts `policy` in force as of `now`. On failure the running policy stays.
  Result<PolicyChanges> install(Policy policy, Instant now);

  // The policy in force; null before the first install().
  std::shared_ptr<const Policy> current() const;

  // The parameters that are in force or have been.
  const Shapes& shapes() const { return shapes_; }

  // Limits whose parameters come with the call; they stand beside every policy.
  ThrottleSets& throttles() const { return throttles_; }

  // Grows with each install(), so that a thread can see cheaply whether its copy is the current.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  Result<void> number(Policy& policy, Instant now);
  void reclaim_numbers();
  void put_in_force(Policy policy);

  Store& store_;
  Secret secret_;
  std::mutex numbering_;  // held by whoever gives shapes their numbers
  Shapes shapes_;
  mutable ThrottleSets throttles_;
  std::vector<const Shape*> converted_;  // replaced shapes of which the store holds no state
  std::uint64_t converted_in_ = 0;       // the generation in which that became so
  bool half_numbered_ = false;  // a policy failed on the way, and some of its shapes stayed
  // How many policies are gone; shared with them, for the last may outlive this.
  std::shared_ptr<std::atomic<std::uint64_t>> gone_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  mutable std::mutex mutex_;
  std::shared_ptr<const Policy> current_;
  std::atomic<std::uint64_t> generation_{0};
};

}  // namespace suimon
