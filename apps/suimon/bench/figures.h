// The figures of suimon bench: what is measured, turn by turn, and what the turns amount to.
//
// Thread rule: one thread.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "apps/suimon/bench/decisions.h"
#include "apps/suimon/bench/floors.h"
#include "suimon/token_bucket.h"

namespace suimon::app::measure {

struct Figure {
  std::string_view name;
  std::string_view what;
  std::function<double(std::size_t turn)> measure;
  std::vector<double> turns{};  // nanoseconds for one

  double median() const;
};

// Of two figures, turn by turn: the machine may be slower in one turn than in the next.
struct Ratio {
  std::string_view name;
  std::string_view what;
  double most;  // on an idle machine
  double (*of)(const std::function<double(std::string_view)>& ns);
};
std::span<const Ratio> ratios();

class Figures {
 public:
  // `limiter` holds as many keys as `keys` says; `floors` stand on as much memory.
  Figures(std::size_t keys, Floors floors, TwoLimits two, Limiter limiter)
      : keys_(keys),
        floors_(std::move(floors)),
        two_(std::move(two)),
        many_(keys, std::move(limiter)) {}
  // Its figures measure by way of it.
  Figures(const Figures&) = delete;
  Figures& operator=(const Figures&) = delete;

  void run();

  // After run(). Every hot decision was the one that it had to be.
  bool complete() const { return hot_.complete(); }
  std::span<const Figure> all() const { return figures_; }
  double ratio(const Ratio& ratio) const;  // the median of each turn's own
  std::size_t keys() const { return keys_; }
  double bytes_per_key() const {
    return static_cast<double>(many_.bytes()) / static_cast<double>(keys_);
  }
  double fill_ns() const { return many_.fill_ns(); }
  // Of the keys that were filled in: how many took the place of another one.
  std::uint64_t pushed_out() const { return pushed_out_; }
  // Read again at the end: how many did not owe what they took.
  std::size_t lost() const { return lost_; }

 private:
  const Figure& figure(std::string_view name) const;

  std::size_t keys_;
  Floors floors_;
  TwoLimits two_;
  ManyKeys many_;
  HotKeys hot_;
  TokenBucket bucket_{{1'000'000'000, per_second(1)}};
  std::uint64_t pushed_out_ = 0;
  std::size_t lost_ = 0;
  std::vector<Figure> figures_{
      {"clock_ns", "reading the clock", [this](auto) { return floors_.clock(kShort); }},
      {"cas16_ns", "a CAS of 16 bytes", [this](auto) { return floors_.cas16(kShort); }},
      {"dram_ns", "a dependent access of memory", [this](auto) { return floors_.dram(kShort); }},
      {"hot_key_ns", "Limiter, a hot key", [this](auto) { return hot_.turn(); }},
      {"bucket_ns", "TokenBucket",
       [this](auto) { return time_of(kShort, [&](std::size_t) { keep(bucket_.try_take()); }); }},
      {"random_key_ns", "Limiter, a random key",
       [this](std::size_t turn) { return many_.random_turn(turn); }},
      {"batched_ns", "Limiter, one of a batch of 16 random keys",
       [this](std::size_t turn) { return many_.batched_turn(turn); }},
      {"single_ns", "one limit, no clock", [this](auto) { return two_.single_turn(); }},
      {"pair_ns", "two limits, all or none, no clock", [this](auto) { return two_.pair_turn(); }},
      {"contended_cas16_ns", "a CAS of 16 bytes, two threads on one slot",
       [](auto) { return Floors::contended_cas16(kShort); }},
      {"contended_ns", "Limiter, two threads on one key", [](auto) { return contended_turn(); }},
  };
};

}  // namespace suimon::app::measure
