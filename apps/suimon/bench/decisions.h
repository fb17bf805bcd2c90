// The decisions that suimon bench measures: one object for each way of asking, whose turns return
// nanoseconds for one decision. A turn is short, so that floors and decisions can take turns.
//
// Thread rule: one thread, which a contended turn joins with a second one for as long as it lasts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/suimon/bench/floors.h"
#include "apps/suimon/bench/two.h"
#include "suimon/limiter.h"
#include "suimon/table/table.h"

namespace suimon::app::measure {

inline constexpr std::size_t kTurns = 40;
inline constexpr std::size_t kShort = 40'000;  // repetitions in a turn
inline constexpr std::size_t kBatch = 16;

// A client's key of 16 bytes, made of its number.
struct ClientKey {
  std::array<std::uint64_t, 2> words;
  explicit ClientKey(std::uint64_t number) : words{mixed(number), number} {}
  std::string_view text() const { return {reinterpret_cast<const char*>(words.data()), 16}; }
};

// Many keys, each asked 99 times in a row: always allowed, always the same line of memory.
class HotKeys {
 public:
  static constexpr std::size_t kKeys = kShort / 99;

  double turn() {
    Limiter limiter({.limit = {100, per_day(1)}, .max_keys = 10'000});
    std::vector<ClientKey> keys;
    keys.reserve(kKeys);
    for (std::size_t i = 0; i < kKeys; ++i) keys.emplace_back(i);
    for (const ClientKey& key : keys) limiter.check(key.text());
    std::uint64_t allowed = 0;
    const double one = time_of(kKeys, [&](std::size_t i) {
      for (int again = 0; again < 99; ++again) allowed += limiter.check(keys[i].text()).granted();
    });
    if (allowed != 99 * kKeys) complete_ = false;
    return one / 99;
  }
  bool complete() const { return complete_; }

 private:
  bool complete_ = true;
};

// Random keys in a table that is made for them.
class ManyKeys {
 public:
  ManyKeys(std::size_t keys, Limiter limiter) : keys_(keys), limiter_(std::move(limiter)) {}

  void fill() {
    const double one = time_of(keys_, [&](std::size_t i) { limiter_.check(ClientKey(i).text()); });
    fill_ns_ = one;
  }
  double random_turn(std::size_t turn) {
    const std::size_t count = keys_ / kTurns;
    return time_of(count, [&](std::size_t i) {
      keep(limiter_.check(ClientKey(turn * count + i).text()).allowed());
    });
  }
  double batched_turn(std::size_t turn) {
    const std::size_t count = keys_ / kTurns / kBatch;
    std::array<Decision, kBatch> decisions;
    return time_of(count,
                   [&](std::size_t i) {
                     const std::size_t first = (turn * count + i) * kBatch;
                     std::array<std::optional<ClientKey>, kBatch> keys;
                     std::array<std::string_view, kBatch> texts;
                     for (std::size_t k = 0; k < kBatch; ++k)
                       texts[k] = keys[k].emplace(first + k).text();
                     limiter_.check_many(texts, decisions, boot_now());
                     keep(decisions[0].allowed());
                   }) /
           kBatch;
  }
  // Reads every key again: how many do not owe what they took.
  std::size_t lost() {
    const Instant now = boot_now();
    std::size_t lost = 0;
    for (std::size_t i = 0; i < keys_; ++i) {
      const std::size_t batched = keys_ / kTurns / kBatch * kTurns * kBatch;
      const std::uint64_t taken = 1 + (i < keys_ / kTurns * kTurns ? 1 : 0) + (i < batched ? 1 : 0);
      lost += limiter_.peek(ClientKey(i).text(), 1, now).remaining() != 100 - taken ? 1 : 0;
    }
    return lost;
  }

  double fill_ns() const { return fill_ns_; }
  std::uint64_t pushed_out() const { return limiter_.evictions() + limiter_.overflows(); }
  std::uint64_t bytes() const { return limiter_.bytes(); }

 private:
  std::size_t keys_;
  Limiter limiter_;
  double fill_ns_ = 0;
};

// One key of each of two limits: alone, and both in one decision. No clock is read here.
class TwoLimits {
 public:
  static Result<TwoLimits> make() {
    auto table = table::Table::make({.keys = 1'000, .shapes = 2, .descriptors = 4});
    if (!table) return tl::unexpected(table.error());
    return TwoLimits(std::move(*table));
  }
  double single_turn() {
    return time_of(kShort, [&](std::size_t) { take({charges_.data(), 1}); });
  }
  double pair_turn() {
    return time_of(kShort, [&](std::size_t) { take(charges_); });
  }

 private:
  explicit TwoLimits(table::Table table) : table_(std::move(table)), now_(boot_now()) {
    for (std::size_t i = 0; i < 2; ++i) {
      const auto shape = shapes_->assign(i == 0 ? "address" : "user", "", Algorithm::token_bucket,
                                         {1'000'000'000, per_second(1)}, now_);
      keep(table_.adopt({&*shape, 1}).has_value());
      charges_[i] = {.key = {mixed(i + 1), mixed(i + 3)}, .shape = (*shape)->number};
    }
  }
  void take(std::span<const Charge> charges) {
    keep(table_.take(charges, {decisions_.data(), charges.size()}, now_));
  }

  std::unique_ptr<Shapes> shapes_ = std::make_unique<Shapes>();
  table::Table table_;
  Instant now_;
  std::array<Charge, 2> charges_;
  std::array<Decision, 2> decisions_;
};

inline double contended_turn() {
  // On lines of their own: the threads are to meet on the key's state and on nothing else.
  struct alignas(256) Shared {
    Limiter limiter{{.limit = {1'000'000'000, per_second(1)}, .max_keys = 100}};
    ClientKey key{1};
  };
  const auto shared = std::make_unique<Shared>();
  return time_of_two(kShort, [&limiter = shared->limiter, key = shared->key.text()](unsigned) {
    keep(limiter.check(key).allowed());
  });
}

}  // namespace suimon::app::measure
