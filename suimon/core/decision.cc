#include "suimon/decision.h"

namespace suimon {

using detail::uint128;

namespace {

// In class V a debt may stand up to two units (half a nanosecond) too high.
uint128 within_resolution(uint128 debt, const detail::Scale& scale) {
  const uint128 resolution = scale.shift == 0 ? 0 : 2;
  return debt > resolution ? debt - resolution : 0;
}

// What tokens were just taken from may stand one unit later in a class V word than it was read.
uint128 standing(uint128 debt, std::uint64_t granted, const detail::Scale& scale) {
  return debt + (scale.shift != 0 && granted != 0 ? 1 : 0);
}

}  // namespace

std::uint64_t Decision::remaining() const {
  const uint128 debt = within_resolution(debt_, scale_);
  const uint128 burst = scale_.burst();
  return debt >= burst ? 0 : static_cast<std::uint64_t>((burst - debt) / scale_.token);
}

std::optional<Duration> Decision::retry_after() const {
  if (outcome_ != Outcome::limited) return std::nullopt;
  const uint128 need = static_cast<uint128>(cost_) * scale_.token;
  return detail::wait_until(scale_, now_, debt_, scale_.burst() - need);
}

Duration Decision::wait() const {
  if (outcome_ != Outcome::allowed || granted_ < cost_) return Duration(0);
  return detail::wait_until(scale_, now_, debt_, scale_.burst());
}

Duration Decision::reset_after() const {
  return detail::wait_until(scale_, now_, standing(debt_, granted_, scale_), 0);
}

std::optional<Duration> Decision::next_token_after() const {
  if (debt_ == 0) return std::nullopt;
  const std::uint64_t whole = remaining();
  if (whole >= scale_.capacity) return std::nullopt;
  const uint128 next = static_cast<uint128>(whole + 1) * scale_.token;
  return detail::wait_until(scale_, now_, standing(debt_, granted_, scale_), scale_.burst() - next);
}

}  // namespace suimon
