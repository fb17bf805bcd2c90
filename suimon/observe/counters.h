// What one event loop counts: written by its own thread without locks, read at scrape.
//
// Thread rule: decided() and measured() by the loop's thread; the readers by any thread. Counters
// only grow, so a reader may see one a moment before the other.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "suimon/engine/observer.h"
#include "suimon/observe/top_keys.h"

namespace suimon {

// A counter with one writer: no locked instruction.
class Counter {
 public:
  void add(std::uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  // Takes over a count that is kept elsewhere.
  void set(std::uint64_t total) { value_.store(total, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Of one limit, by what it said.
struct LimitCounters {
  std::array<Counter, 3> by_outcome;  // in the order of Outcome
  Counter shadow_limited;             // would have refused
};

// Of one domain at one door.
struct RequestCounters {
  std::string domain;
  DoorId door = 0;
  std::array<Counter, 3> by_outcome;
  Counter errors;  // no verdict: unknown domain, undecodable path, too many limits, failed store
};

// The statuses of answers to requests that were wrong in themselves, whatever the policy says.
inline constexpr std::array<int, 12> kBadStatuses = {400, 401, 404, 405, 408, 413,
                                                     414, 415, 417, 431, 501, 505};
using BadRequests = std::array<std::uint64_t, kBadStatuses.size()>;

// What happened to connections of one listener.
struct ConnectionCounters {
  Counter refused;             // no place or buffer was left
  Counter timed_out;           // too slow, or idle for too long
  Counter accept_failures;     // the system had no descriptor or memory
  Counter handshake_failures;  // no TLS, or no PROXY header where one must be
  Counter refused_calls;       // of several on one connection: no place or buffer was left
  std::array<Counter, kBadStatuses.size()> bad_requests;
};

// How long checks took, in buckets.
class DurationCounters {
 public:
  // Upper bounds in nanoseconds; the last bucket has none.
  static constexpr std::array<std::int64_t, 14> kBounds = {
      1'000,   2'500,   5'000,     10'000,    25'000,     50'000,      100'000,
      250'000, 500'000, 1'000'000, 2'500'000, 10'000'000, 100'000'000, 1'000'000'000};

  void add(Duration each, std::uint64_t count);
  std::uint64_t in_bucket(std::size_t i) const { return buckets_[i].value(); }
  std::uint64_t sum_ns() const { return sum_ns_.value(); }

 private:
  std::array<Counter, kBounds.size() + 1> buckets_;
  Counter sum_ns_;
};

class LoopCounters final : public Observer {
 public:
  static constexpr std::size_t kMostDoors = 8;

  LoopCounters();

  void decided(DoorId door, const Verdict& verdict) override;

  // A call at `door` that brought its parameters with it (engine/throttle.h), and was charged in
  // this shape.
  void throttled(DoorId door, ShapeNumber number, Outcome outcome) {
    const auto place = static_cast<std::size_t>(outcome);
    requests_of(door, nullptr).by_outcome[place].add();
    (*limits_)[number].by_outcome[place].add();
  }
  // The same, when the store did not answer.
  void throttle_failed(DoorId door) {
    requests_of(door, nullptr).errors.add();
    store_failures_.add();
  }

  // `count` checks at `door` took at most `each`.
  void measured(DoorId door, Duration each, std::uint64_t count) {
    durations_[door].add(each, count);
  }

  // Of a listener: its place in the list of names that Metrics shows. Written by the loop's thread.
  ConnectionCounters& connections(std::size_t listener) { return connections_[listener]; }
  const ConnectionCounters& connections(std::size_t listener) const {
    return connections_[listener];
  }

  const LimitCounters& limit(ShapeNumber number) const { return (*limits_)[number]; }
  const DurationCounters& durations(DoorId door) const { return durations_[door]; }
  // Requests that got no verdict because the store did not answer.
  std::uint64_t store_failures() const { return store_failures_.value(); }
  // Limits that let a request pass unasked, and those that decided in this process, because the
  // store did not answer.
  std::uint64_t unasked() const { return unasked_.value(); }
  std::uint64_t decided_locally() const { return decided_locally_.value(); }
  // Who was refused most of late.
  const TopKeys& top_keys() const { return top_keys_; }

  // Calls `use` for every domain and door that has been asked for.
  template <class Use>
  void each_request_counter(Use&& use) const {
    const std::lock_guard lock(mutex_);
    for (const auto& counters : requests_) use(*counters);
  }

 private:
  RequestCounters& requests_of(DoorId door, const Ruleset* ruleset);

  std::unique_ptr<std::array<LimitCounters, Shapes::kMost>> limits_;
  std::array<DurationCounters, kMostDoors> durations_;
  std::array<ConnectionCounters, kMostDoors> connections_;
  Counter store_failures_;
  Counter unasked_;
  Counter decided_locally_;
  TopKeys top_keys_;
  mutable std::mutex mutex_;  // held to add to requests_ and to read it from elsewhere
  std::vector<std::unique_ptr<RequestCounters>> requests_;  // a handful: one a domain and door
};

}  // namespace suimon
