// Limits whose parameters come with the call, as in CL.THROTTLE: a capacity and the time in which
// one token flows in. A set of these two gets a shape when it is first used, like a tier of a limit
// that no policy names ("cl.throttle"); a key whose calls change to another set is converted as by
// a change of tier.
//
// Whoever connects can invent sets, so they are bounded, apart from what policies need, and those
// that nobody has used for as long as their bucket takes to fill give way (tidy()). Every such
// shape counts in whole nanoseconds, so a state that is full in one set is full in every other, and
// a number may go from one set to the next without a look at the table. Thread rule: any thread;
// the calls lock. Doors ask through Throttle, which remembers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "suimon/core/identity.h"
#include "suimon/core/shapes.h"
#include "suimon/store/store.h"

namespace suimon {

struct ThrottleSet {
  std::uint64_t capacity = 1;  // tokens
  Duration interval{1};        // in which one of them flows in
  friend constexpr auto operator<=>(const ThrottleSet&, const ThrottleSet&) = default;
};

// Whose words the call is in. Each dialect has buckets of its own.
enum class ThrottleDialect : std::uint8_t { cl_throttle, throttle };
inline constexpr std::array<std::string_view, 2> kThrottleNames = {"cl.throttle", "throttle"};

class ThrottleSets {
 public:
  static constexpr std::size_t kMost = 4096;  // sets in use at once

  // `numbering` guards `shapes` and the store's adopt(): policies get their shapes there, too.
  ThrottleSets(Shapes& shapes, Store& store, const Secret& secret, std::mutex& numbering);

  // The number under which charges of this set go. Fails for a set that cannot be counted exactly
  // in a word of nanoseconds, and when kMost others are in use. O(log sets).
  Result<ShapeNumber> number_of(const ThrottleSet& set, Instant now);

  // Under which key a dialect's calls are hashed, so that what clients send is not kept.
  const SipKey& hash_key(ThrottleDialect dialect) const {
    return hash_keys_[static_cast<std::size_t>(dialect)];
  }

  // What the numbers mean may change with each generation: who remembers one asks again then.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // One step towards numbers for new sets: those that nobody uses any more and whose buckets are
  // all full again are taken out, one step later the store forgets them, and one more later they
  // are free. Requires that every thread which decides has done nothing else for a moment since the
  // step before: it then knows the generation, and has no charge under way from before it but those
  // of which pending() was told, and while there are such it does nothing. To be called now and
  // then, by one thread. O(sets).
  void tidy(Instant now);

  // A store will answer later: charges stay under way until answered() is told the same generation.
  std::uint64_t pending() {
    const std::uint64_t now = generation();
    pending_[now % 2].fetch_add(1, std::memory_order_relaxed);
    return now;
  }
  void answered(std::uint64_t generation) {
    pending_[generation % 2].fetch_sub(1, std::memory_order_release);
  }

  // Sets in use. Any thread.
  std::size_t used() const { return used_.load(std::memory_order_relaxed); }
  // Calls that were refused because kMost other sets were in use. Any thread.
  std::uint64_t turned_away() const { return turned_away_.load(std::memory_order_relaxed); }

 private:
  struct Known {
    const Shape* shape = nullptr;
    std::uint64_t asked_in = 0;  // the generation in which somebody asked last
    Instant used_until;          // no charge of it was made after this, once asked_in lies back
  };

  Result<const Shape*> fresh(const ThrottleSet& set, Instant now);

  Shapes& shapes_;
  Store& store_;
  std::mutex& numbering_;
  std::array<SipKey, kThrottleNames.size()> hash_keys_;
  std::map<ThrottleSet, Known> known_;
  std::vector<const Shape*> leaving_;    // nobody asks for them any more
  std::vector<const Shape*> forgotten_;  // nor does the store know them
  std::vector<const Shape*> free_;
  std::size_t made_ = 0;  // numbers taken from shapes_
  std::atomic<std::size_t> used_{0};
  std::atomic<std::uint64_t> turned_away_{0};
  std::atomic<std::uint64_t> generation_{1};
  std::array<std::atomic<std::uint64_t>, 2> pending_{};  // of this generation and the one before
};

}  // namespace suimon
