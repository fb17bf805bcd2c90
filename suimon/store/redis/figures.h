// What a store on Redis counts, for metrics.
//
// Thread rule: written by the loop's thread without locks, read by any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "suimon/time.h"

namespace suimon::redis {

// A counter with one writer.
class Count {
 public:
  void add(std::uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// How long round trips took.
class RoundTrips {
 public:
  // Upper bounds in nanoseconds; the last bucket has none.
  static constexpr std::array<std::int64_t, 12> kBounds = {
      50'000,    100'000,    250'000,    500'000,    1'000'000,   2'500'000,
      5'000'000, 10'000'000, 25'000'000, 50'000'000, 100'000'000, 1'000'000'000};

  void add(Duration each) {
    std::size_t i = 0;
    while (i < kBounds.size() && each.count() > kBounds[i]) ++i;
    buckets_[i].add();
    sum_ns_.add(static_cast<std::uint64_t>(each.count() < 0 ? 0 : each.count()));
  }
  std::uint64_t in_bucket(std::size_t i) const { return buckets_[i].value(); }
  std::uint64_t sum_ns() const { return sum_ns_.value(); }

 private:
  std::array<Count, kBounds.size() + 1> buckets_;
  Count sum_ns_;
};

struct Figures {
  RoundTrips round_trips;  // of batches
  Count batches;
  Count groups;       // decided
  Count charges;      // sent
  Count retries;      // groups decided again, because a record had to be converted first
  Count conversions;  // of records, to parameters that replaced others
  Count given_back;   // takes of groups over several shards that another shard refused

  // Groups that were not decided, each counted once, by the reason:
  Count no_place;    // too many waited already
  Count not_sent;    // waited for longer than the time-out
  Count not_run;     // the servers certainly did not run it
  Count unknown;     // sent, and no answer came: counts as spent
  Count bad_answer;  // an error of the server's, or no answer of the script's
  Count disputed;    // the script and the core decided differently: a fault of ours, to be reported

  std::uint64_t errors() const {
    return no_place.value() + not_sent.value() + not_run.value() + unknown.value() +
           bad_answer.value() + disputed.value();
  }
};

}  // namespace suimon::redis
