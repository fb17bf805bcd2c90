// One limit for millions of keys, in this process.
//
//     suimon::Limiter limiter({.limit = {.capacity = 10, .refill = suimon::per_second(2)}});
//     suimon::Decision d = limiter.check("user:42");
//     if (!d.allowed()) reply(429, d.retry_after());
//
// Every key has its own bucket, which starts full. Keys are kept as hashes under a secret that is
// drawn at construction; the text of a key is never stored.
//
// Law: per key as in suimon/token_bucket.h, with its resolution: exact for rates with a small
// numerator, else never generous and at most two units late (a unit is normally at most 1/4 ns).
//
// Memory: 24 bytes for each of max_keys, fixed at construction, taken from the system as it is
// touched. A state that is full again gives way to new keys. Where a new key finds no room, the key
// there that owes the smallest share of its capacity goes, which forgives what it owed (counted:
// evictions()), but never one that has no token left. When all there have none, the newcomer is
// charged to one overflow bucket that such newcomers share (counted: overflows()). Up to max_keys
// about 1 in 2,000 is lost to either.
//
// Threads: any thread may call anything at any time; nothing locks. Complexity: O(1) per key.
// Instants: see suimon/time.h; the calls without one read CLOCK_BOOTTIME. One that lies in the
// future holds up new keys until it has come.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "suimon/decision.h"
#include "suimon/limit.h"
#include "suimon/result.h"
#include "suimon/time.h"

namespace suimon {

class Limiter {
 public:
  struct Options {
    Limit limit;
    std::uint64_t max_keys = 1'000'000;  // that have state at once; 1 to 2^32
  };

  // Throws std::invalid_argument, with what is wrong and what would be right. make() returns the
  // same as a Result.
  explicit Limiter(const Options& options);
  static Result<Limiter> make(const Options& options);
  ~Limiter();
  Limiter(Limiter&&) noexcept;
  Limiter& operator=(Limiter&&) noexcept;

  // Takes `cost` tokens of `key`'s bucket if they are there. A cost of 0 takes nothing.
  Decision check(std::string_view key, std::uint64_t cost, Instant now);
  Decision check(std::string_view key, std::uint64_t cost = 1);

  // Checks every key for one token, in order: out[i] answers keys[i]. Requires equal lengths.
  // Faster than one by one: the memory of 16 keys is fetched at once.
  void check_many(std::span<const std::string_view> keys, std::span<Decision> out, Instant now);

  // What check would answer, without taking anything.
  Decision peek(std::string_view key, std::uint64_t cost, Instant now);

  // How many keys have state (those that are full again count until they give way); how many states
  // that owed something had to go; how many charges went to the overflow bucket; and how many bytes
  // the whole table has.
  std::uint64_t keys() const;
  std::uint64_t evictions() const;
  std::uint64_t overflows() const;
  std::uint64_t bytes() const;

 private:
  struct State;
  explicit Limiter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace suimon
