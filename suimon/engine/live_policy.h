// The policy in force, exchanged while decisions go on.
//
// A reload compiles a whole new Policy beside the running one and then puts it in its place: every
// decision sees one policy from beginning to end. Limits whose parameters did not change keep
// their shapes and so their state; changed ones get new shapes, and stores convert.
//
// Thread rule: install() by one thread at a time; the rest by any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "suimon/engine/policy_changes.h"
#include "suimon/policy/ruleset.h"
#include "suimon/store/store.h"

namespace suimon {

class LivePolicy {
 public:
  LivePolicy(Store& store, const Secret& secret) : store_(store), secret_(secret) {}

  // Puts `policy` in force as of `now`. On failure the running policy stays.
  Result<PolicyChanges> install(Policy policy, Instant now);

  // The policy in force; null before the first install().
  std::shared_ptr<const Policy> current() const;

  // Every set of parameters that has been in force.
  const Shapes& shapes() const { return shapes_; }

  // Grows with each install(), so that a thread can see cheaply whether its copy is the current.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  Store& store_;
  Secret secret_;
  Shapes shapes_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Policy> current_;
  std::atomic<std::uint64_t> generation_{0};
};

}  // namespace suimon
