// suimon bench: decisions in this process against the machine's own floors.
//
// Everything is measured in short turns, one after the other, many times over, and medians are
// shown: so what else runs on the machine meets floors and decisions alike.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include "apps/suimon/bench/floors.h"
#include "apps/suimon/bench/two.h"
#include "apps/suimon/commands.h"
#include "suimon/limiter.h"
#include "suimon/table/table.h"
#include "suimon/token_bucket.h"

namespace suimon::app {
namespace {

using namespace measure;

constexpr std::size_t kTurns = 40;
constexpr std::size_t kShort = 40'000;  // repetitions in a turn
constexpr std::size_t kBatch = 16;

// A client's key of 16 bytes, made of its number.
struct ClientKey {
  std::array<std::uint64_t, 2> words;
  explicit ClientKey(std::uint64_t number) : words{mixed(number), number} {}
  std::string_view text() const { return {reinterpret_cast<const char*>(words.data()), 16}; }
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Many keys, each asked 99 times in a row: always allowed, always the same line of memory.
class HotKeys {
 public:
  static constexpr std::size_t kKeys = kShort / 99;

  double turn() {
    Limiter limiter({.limit = {100, per_day(1)}, .max_keys = 10'000});
    std::vector<ClientKey> keys;
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

double contended_turn() {
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

struct Figure {
  std::string_view name;
  std::string_view what;
  std::function<double(std::size_t turn)> measure;
  std::vector<double> turns{};
};

// Of two figures, turn by turn: the machine may be slower in one turn than in the next.
struct Ratio {
  std::string_view name;
  std::string_view what;
  double most;
  double (*of)(const std::function<double(std::string_view)>& ns);
};

constexpr std::array<Ratio, 6> kRatios{{
    {"hot_key", "a hot key / (clock + CAS)", 1.35,
     [](const auto& ns) { return ns("hot_key_ns") / (ns("clock_ns") + ns("cas16_ns")); }},
    {"bucket", "one TokenBucket / (clock + CAS)", 1.1,
     [](const auto& ns) { return ns("bucket_ns") / (ns("clock_ns") + ns("cas16_ns")); }},
    {"random_key", "a random key / (clock + access)", 1.4,
     [](const auto& ns) { return ns("random_key_ns") / (ns("clock_ns") + ns("dram_ns")); }},
    {"batched", "one of a batch of 16 / access", 0.5,
     [](const auto& ns) { return ns("batched_ns") / ns("dram_ns"); }},
    {"pair", "two limits at once / (2 single + 5 CAS)", 1.0,
     [](const auto& ns) { return ns("pair_ns") / (2 * ns("single_ns") + 5 * ns("cas16_ns")); }},
    {"contended", "one key, two threads / contended CAS", 1.5,
     [](const auto& ns) { return ns("contended_ns") / ns("contended_cas16_ns"); }},
}};

class Bench {
 public:
  Bench(std::size_t keys, Floors floors, TwoLimits two, Limiter limiter)
      : keys_(keys),
        floors_(std::move(floors)),
        two_(std::move(two)),
        many_(keys, std::move(limiter)) {}

  void run() {
    many_.fill();
    filled_out_ = many_.pushed_out();
    for (std::size_t turn = 0; turn < kTurns; ++turn) {
      for (Figure& figure : figures_) figure.turns.push_back(figure.measure(turn));
    }
    lost_ = many_.lost();
  }

  // Every hot decision was the one that it had to be.
  bool complete() const { return hot_.complete(); }
  double ratio(const Ratio& ratio) const {
    std::vector<double> turns;
    for (std::size_t turn = 0; turn < kTurns; ++turn) {
      turns.push_back(ratio.of([&](std::string_view name) { return figure(name).turns[turn]; }));
    }
    return median(std::move(turns));
  }
  double bytes_per_key() const {
    return static_cast<double>(many_.bytes()) / static_cast<double>(keys_);
  }

  std::string json() const {
    std::string out = "{";
    for (const Figure& figure : figures_) {
      out += fmt::format("\"{}\": {:.1f}, ", figure.name, median(figure.turns));
    }
    out += fmt::format("\"fill_ns\": {:.1f}, \"keys\": {}, \"bytes_per_key\": {:.2f}, ",
                       many_.fill_ns(), keys_, bytes_per_key());
    out += fmt::format("\"evictions\": {}, \"lost\": {}, \"ratios\": {{", filled_out_, lost_);
    for (const Ratio& r : kRatios) {
      out += fmt::format("{}\"{}\": {:.2f}", &r == &kRatios[0] ? "" : ", ", r.name, ratio(r));
    }
    return out + "}}\n";
  }

  std::string table() const {
    std::string out = fmt::format("nanoseconds, medians of {} turns\n", kTurns);
    for (const Figure& figure : figures_) {
      out += fmt::format("  {:<44} {:>8.1f}\n", figure.what, median(figure.turns));
    }
    out +=
        "ratios, medians of each turn's own, and what they should stay under on an idle machine\n";
    for (const Ratio& r : kRatios) {
      const double value = ratio(r);
      out += fmt::format("  {:<44} {:>8.2f} {:>8.2f}{}\n", r.what, value, r.most,
                         value > r.most ? "  above" : "");
    }
    const double share = 100.0 * static_cast<double>(filled_out_) / static_cast<double>(keys_);
    out += fmt::format(
        "{} keys: {:.2f} bytes each, {:.1f} ns to insert one; {} ({:.3f} %) took the place of "
        "another one.\nRead again at the end, {} did not owe what they took: those, and whom they "
        "pushed out when they came back\n",
        keys_, bytes_per_key(), many_.fill_ns(), filled_out_, share, lost_);
    return out;
  }

 private:
  const Figure& figure(std::string_view name) const {
    return *std::find_if(figures_.begin(), figures_.end(),
                         [&](const Figure& figure) { return figure.name == name; });
  }

  std::size_t keys_;
  Floors floors_;
  TwoLimits two_;
  ManyKeys many_;
  HotKeys hot_;
  TokenBucket bucket_{{1'000'000'000, per_second(1)}};
  std::uint64_t filled_out_ = 0;
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

}  // namespace

int bench(const BenchOptions& options) {
  const auto fail = [](const std::string& why) {
    std::cerr << why << '\n';
    return kFailed;
  };
  const std::size_t bytes = table::Memory::bytes_for(table::Size::for_keys(options.keys, 1, 1));
  // The table and as much again for the floors, all of it touched.
  const std::size_t free = static_cast<std::size_t>(::sysconf(_SC_AVPHYS_PAGES)) *
                           static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (2 * bytes > free) {
    return fail(fmt::format("{} keys need {} MiB, and {} MiB are free; ask for fewer --keys",
                            options.keys, bytes >> 19, free >> 20));
  }
  auto region = table::Region::make(bytes, false);
  if (!region) return fail(region.error().text);
  auto two = TwoLimits::make();
  if (!two) return fail(two.error().text);
  auto limiter = Limiter::make({.limit = {100, per_day(1)}, .max_keys = options.keys});
  if (!limiter) return fail(limiter.error().text);
  Bench bench(options.keys, Floors(std::move(*region)), std::move(*two), std::move(*limiter));
  bench.run();
  if (!bench.complete()) {
    return fail("a key was refused that had tokens left: these figures mean nothing");
  }
  std::cout << (options.json ? bench.json() : bench.table()) << std::flush;
  return kGood;
}

}  // namespace suimon::app
