// One limit for millions of keys, in this process.
//
//     suimon::Limiter limiter({.limit = {.capacity = 10, .refill = suimon::per_second(2)}});
//     suimon::Decision d = limiter.check("user:42");
//     if (!d.allowed()) reply(429, d.retry_after());
//
// Every key has its own bucket, which starts full. Keys are kept as hashes under a secret that is
// drawn at construction; the text of a key is never stored.
//
// Law: per key as in suimon/token_bucket.h, exact at every rate. Memory is bounded by max_keys;
// states that are full again are dropped, and when all owe something, newcomers share one
// overflow bucket: overflows() counts the charges that went there.
//
// Threads: any thread may call anything at any time. Complexity: O(1) per key.
// Instants: see suimon/time.h; the calls without one read CLOCK_BOOTTIME.
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
    std::uint64_t max_keys = 1'000'000;  // 1 to 2^32
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
  Decision check(std::string_view key, std::uint64_t cost = 1) {
    return check(key, cost, boot_now());
  }

  // Checks every key for one token, in order: out[i] answers keys[i]. Requires equal lengths.
  void check_many(std::span<const std::string_view> keys, std::span<Decision> out, Instant now);

  // What check would answer, without taking anything.
  Decision peek(std::string_view key, std::uint64_t cost, Instant now);

  // How many keys have state now, and how many charges met a full table.
  std::uint64_t keys() const;
  std::uint64_t overflows() const;

 private:
  struct State;
  explicit Limiter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace suimon
