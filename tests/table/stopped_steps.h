// The real steps, one of which can be announced: what a test does just before it is what happens to
// a thread that is stopped there, for as long as it takes others to do all they do.
#pragma once

#include <functional>

#include "suimon/table/steps.h"

namespace suimon::test {

// For one thread. What runs meanwhile uses the same memory by the real steps.
struct StoppedSteps : table::RealSteps {
  using Real = table::RealSteps;
  // Fewer steps to wait through: whoever is stopped does not move meanwhile.
  static constexpr unsigned kPatience = 2;

  static inline std::uint64_t done = 0;
  static inline std::uint64_t stop_before = ~std::uint64_t{0};
  static inline std::function<void()> meanwhile;

  // Calls `act`, and before its step number `step` (from 0) calls `other`. True when it came so
  // far.
  template <class Act>
  static bool run(std::uint64_t step, std::function<void()> other, const Act& act) {
    done = 0;
    stop_before = step;
    meanwhile = std::move(other);
    act();
    stop_before = ~std::uint64_t{0};
    return done > step;
  }

  static void announce() {
    if (done++ == stop_before) meanwhile();
  }

  static std::uint64_t load(const std::uint64_t& word) {
    announce();
    return Real::load(word);
  }
  static table::Slot load(table::Slot& slot) {
    announce();
    return Real::load(slot);
  }
  static void store(std::uint64_t& word, std::uint64_t value) {
    announce();
    Real::store(word, value);
  }
  static bool cas(std::uint64_t& word, std::uint64_t expected, std::uint64_t desired) {
    announce();
    return Real::cas(word, expected, desired);
  }
  static bool cas(table::Slot& slot, const table::Slot& expected, const table::Slot& desired) {
    announce();
    return Real::cas(slot, expected, desired);
  }
  static std::uint64_t nonce(table::Shard* shards) {
    announce();
    return Real::nonce(shards);
  }
  static void count(table::Shard* shards, std::uint64_t table::Shard::* figure, std::uint64_t by) {
    announce();
    Real::count(shards, figure, by);
  }
  static bool is_gone(std::uint64_t holder, bool of_this_process) {
    announce();
    return Real::is_gone(holder, of_this_process);
  }
};

}  // namespace suimon::test
