#include "suimon/detail/scale.h"

#include <limits>
#include <numeric>

namespace suimon::detail {
namespace {

constexpr std::uint64_t kMaxCapacity = std::uint64_t{1} << 60;
constexpr std::uint64_t kMaxTokensPerNs = 16;
constexpr std::uint64_t kWordBurst = std::uint64_t{1} << 61;      // class V: C*m stays below
constexpr std::uint64_t kExactBurst = std::uint64_t{1} << 62;     // class E: C*q stays below
constexpr std::uint64_t kExactNumerator = 9;                      // 2^63/9 ns is 32 years
constexpr uint128 kMaxFillNs = static_cast<uint128>(1000) << 61;  // a unit is then at most 1 us

struct Fraction {
  std::uint64_t p;  // tokens
  std::uint64_t q;  // nanoseconds
};

Fraction lowest_terms(const Rate& rate) {
  const auto period = static_cast<std::uint64_t>(rate.period.count());
  const std::uint64_t divisor = std::gcd(rate.tokens, period);
  return {rate.tokens / divisor, period / divisor};
}

uint128 ceil_div(uint128 a, uint128 b) { return a / b + (a % b != 0 ? 1 : 0); }

Duration saturated(uint128 ns) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  return Duration(ns > static_cast<uint128>(kMax) ? kMax : static_cast<std::int64_t>(ns));
}

// floor(numerator * 2^shift / denominator) for the largest shift <= 60 that keeps it below 2^63.
void set_rate(Scale& scale, uint128 numerator, std::uint64_t denominator) {
  constexpr uint128 kTop = static_cast<uint128>(1) << 62;
  uint128 quotient = numerator / denominator;
  uint128 rest = numerator % denominator;
  std::uint8_t shift = 0;
  while (shift < 60 && quotient < kTop) {
    rest <<= 1;
    quotient <<= 1;
    if (rest >= denominator) {
      rest -= denominator;
      quotient |= 1;
    }
    ++shift;
  }
  scale.scale = static_cast<std::uint64_t>(quotient);
  scale.shift = shift;
}

}  // namespace

Scale exact_scale(const Limit& limit) {
  const Fraction rate = lowest_terms(limit.refill);
  return {.scale = rate.p, .token = rate.q, .capacity = limit.capacity, .shift = 0};
}

Scale word_scale(const Limit& limit) {
  const Fraction rate = lowest_terms(limit.refill);
  if (rate.p <= kExactNumerator && static_cast<uint128>(limit.capacity) * rate.q < kExactBurst) {
    return exact_scale(limit);
  }
  uint128 token = 1;
  while (token * rate.p < static_cast<uint128>(rate.q) * 4) token <<= 1;
  while (token > 1 && limit.capacity * token >= kWordBurst) token >>= 1;
  Scale scale{.scale = 1,
              .token = static_cast<std::uint64_t>(token),
              .capacity = limit.capacity,
              .shift = 0};
  set_rate(scale, token * rate.p, rate.q);
  return scale;
}

Duration wait_until(const Scale& scale, Instant now, uint128 debt, uint128 target) {
  if (debt <= target) return Duration(0);
  const uint128 gap = debt - target;
  // Without a fraction every nanosecond brings `scale` units.
  if (scale.shift == 0) return saturated(ceil_div(gap, scale.scale));
  // The first instant whose position, rounded down, has moved by the gap. Kept in 128 bits: the
  // position is below 2^68, the shift at most 60.
  const uint128 goal = (wide_position(scale, now) >> scale.shift) + gap;
  const uint128 at = ceil_div(goal << scale.shift, scale.scale);
  return saturated(at - unsigned_ns(now));
}

}  // namespace suimon::detail

namespace suimon {

Result<void> validate(const Limit& limit) {
  using namespace detail;
  if (limit.capacity == 0) {
    return failure("a capacity of 0 would never let anything through; write at least 1");
  }
  if (limit.capacity > kMaxCapacity) {
    return failure("a capacity of " + std::to_string(limit.capacity) +
                   " is too large; write at most 1152921504606846976 (2^60)");
  }
  if (limit.refill.tokens == 0) {
    return failure("a refill of 0 tokens would never refill; write at least 1 per period");
  }
  if (limit.refill.period.count() <= 0) {
    return failure("a refill needs a period longer than 0, such as 1s");
  }
  const Fraction rate = lowest_terms(limit.refill);
  if (static_cast<uint128>(rate.q) * kMaxTokensPerNs < rate.p) {
    return failure(
        "a refill above 16 tokens per nanosecond cannot be counted; write at most 16G/s");
  }
  if (ceil_div(static_cast<uint128>(limit.capacity) * rate.q, rate.p) > kMaxFillNs) {
    return failure(
        "this bucket would need more than 73,000 years to fill; "
        "lower the capacity or raise the refill");
  }
  return {};
}

}  // namespace suimon
