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
// A new secret takes the place of the running one in two steps, because loops change from policy to
// policy one after the other and nobody waits for them. First everybody learns of the new secret
// and goes on under the running one (Rekey::accept). When all earlier policies are gone, everybody
// is told to go over (Rekey::move); those who have not been told yet know both. So at any time two
// threads at most one step apart decide, and a client has one state.
//
// Thread rule: install() and go_on() by one thread at a time; the rest by any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "suimon/engine/policy_changes.h"
#include "suimon/engine/throttle_sets.h"
#include "suimon/policy/ruleset.h"
#include "suimon/store/store.h"

namespace suimon {

// The secret under which clients are known, and the one whose states are accepted besides.
struct Secrets {
  Secret current;
  std::optional<Secret> previous{};
};

class LivePolicy {
 public:
  LivePolicy(Store& store, const Secret& secret)
      : store_(store), secrets_{secret}, throttles_(shapes_, store, secret, numbering_) {}

  // Puts `policy` in force as of `now`, under the secrets in force. On failure the running policy
  // stays.
  Result<PolicyChanges> install(Policy policy, Instant now);
  // The same under these secrets. Once a policy is in force, another secret than the running one
  // needs the running one as `previous`, and its replacement begins: go_on() goes on with it.
  Result<PolicyChanges> install(Policy policy, Instant now, const Secrets& secrets);

  // The next step of a replacement of the secret, if one is due. True when none is left to be
  // waited for.
  bool go_on();
  // Whether one is. For the thread that installs.
  bool is_to_go_on() const { return next_.has_value(); }

  // Whether states under a previous secret are accepted. Any thread.
  bool is_rotating() const { return rotating_.load(std::memory_order_relaxed); }

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
  Result<PolicyChanges> put_through(Policy policy, Instant now);
  Hashing hashing() const;
  bool is_alone() const;
  void reclaim_numbers();
  void put_in_force(Policy policy);

  Store& store_;
  Secrets secrets_;             // in force
  std::optional<Secret> next_;  // the one that replaces it, when everybody knows of it
  std::atomic<bool> rotating_{false};
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
