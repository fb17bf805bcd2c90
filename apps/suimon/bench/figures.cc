#include "apps/suimon/bench/figures.h"

#include <algorithm>
#include <array>

namespace suimon::app::measure {
namespace {

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

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double Figure::median() const { return median_of(turns); }

std::span<const Ratio> ratios() { return kRatios; }

void Figures::run() {
  many_.fill();
  pushed_out_ = many_.pushed_out();
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    for (Figure& figure : figures_) figure.turns.push_back(figure.measure(turn));
  }
  lost_ = many_.lost();
}

double Figures::ratio(const Ratio& ratio) const {
  std::vector<double> turns;
  turns.reserve(kTurns);
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    turns.push_back(ratio.of([&](std::string_view name) { return figure(name).turns[turn]; }));
  }
  return median_of(std::move(turns));
}

const Figure& Figures::figure(std::string_view name) const {
  return *std::find_if(figures_.begin(), figures_.end(),
                       [&](const Figure& figure) { return figure.name == name; });
}

}  // namespace suimon::app::measure
