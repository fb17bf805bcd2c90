// Words for tests that are timelines, and the seed of tests that are random.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "suimon/time.h"

namespace suimon::test {

using namespace std::chrono_literals;

// The instant `since` after the zero of the test's clock.
constexpr Instant at(Duration since) { return Instant(since); }

// The seed of this run: SUIMON_SEED repeats a run, without it every run is another. Printed, so
// that a failure can be repeated.
inline std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* given = std::getenv("SUIMON_SEED");
    const std::uint64_t drawn = given != nullptr ? std::strtoull(given, nullptr, 10)
                                                 : std::uint64_t{std::random_device{}()};
    std::printf("SUIMON_SEED=%llu\n", static_cast<unsigned long long>(drawn));
    return drawn;
  }();
  return value;
}

// How much longer than usual random tests run: SUIMON_LONG=1 asks for 20 times as much.
inline std::uint64_t stretch() { return std::getenv("SUIMON_LONG") != nullptr ? 20 : 1; }

// Under a sanitizer the same decisions take ten times as long; it looks for other faults.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t kSanitized = 10;
#else
inline constexpr std::uint64_t kSanitized = 1;
#endif

// Random numbers of the sizes that find faults: uniform ones hardly ever come near an edge.
class Dice {
 public:
  explicit Dice(std::uint64_t stream) : engine_(seed() * 0x9e3779b97f4a7c15ULL + stream) {}

  // From `low` to `high`, both included.
  std::uint64_t uniform(std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(engine_);
  }
  // From `low` to `high`, every number of digits as likely as the next.
  std::uint64_t any_size(std::uint64_t low, std::uint64_t high) {
    const std::uint64_t span = high - low;
    const int bits = span == 0 ? 0 : 64 - __builtin_clzll(span);
    const auto width = static_cast<int>(uniform(0, static_cast<std::uint64_t>(bits)));
    const std::uint64_t top = width >= 64 ? ~0ULL : (1ULL << width) - 1;
    return low + uniform(0, top < span ? top : span);
  }
  bool one_in(std::uint64_t n) { return uniform(1, n) == 1; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace suimon::test
