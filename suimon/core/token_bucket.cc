#include "suimon/token_bucket.h"

#include <algorithm>
#include <stdexcept>

namespace suimon {

TokenBucket::TokenBucket(const Limit& limit) {
  if (auto valid = validate(limit); !valid) throw std::invalid_argument(valid.error().text);
  scale_ = detail::word_scale(limit);
}

Result<TokenBucket> TokenBucket::make(const Limit& limit) {
  if (auto valid = validate(limit); !valid) return tl::unexpected(valid.error());
  return TokenBucket(detail::word_scale(limit));
}

Decision TokenBucket::answer(Outcome outcome, Instant now, std::uint64_t cost,
                             std::uint64_t granted) const noexcept {
  const auto debt =
      detail::debt_at(word_.load(std::memory_order_relaxed), detail::position(scale_, now).floor);
  return {outcome, scale_, now, debt, cost, granted};
}

Decision TokenBucket::peek(std::uint64_t cost, Instant now) const noexcept {
  if (cost > scale_.capacity) return answer(Outcome::never, now, cost, 0);
  const std::uint64_t word = word_.load(std::memory_order_relaxed);
  const bool fits = detail::take(scale_, word, now, cost).fits;
  const std::uint64_t debt = detail::debt_at(word, detail::position(scale_, now).floor);
  return {fits ? Outcome::allowed : Outcome::limited, scale_, now, debt, cost, 0};
}

Decision TokenBucket::take_up_to(std::uint64_t cost, Instant now) noexcept {
  const std::uint64_t burst = scale_.capacity * scale_.token;
  std::uint64_t word = word_.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t debt = detail::debt_at(word, detail::position(scale_, now).floor);
    const std::uint64_t there = debt >= burst ? 0 : std::min(cost, (burst - debt) / scale_.token);
    if (there == 0) return {Outcome::allowed, scale_, now, debt, cost, 0};
    const detail::Taken step = detail::take(scale_, word, now, there);
    if (word_.compare_exchange_weak(word, step.word, std::memory_order_relaxed)) {
      return {Outcome::allowed, scale_, now, step.debt, cost, there};
    }
  }
}

Decision TokenBucket::reserve(std::uint64_t cost, Duration max_wait, Instant now) noexcept {
  if (cost > scale_.capacity) return answer(Outcome::never, now, cost, 0);
  const std::uint64_t slack = detail::slack_of(scale_, max_wait);
  std::uint64_t word = word_.load(std::memory_order_relaxed);
  for (;;) {
    const detail::Taken step = detail::take(scale_, word, now, cost, slack);
    if (!step.fits) return {Outcome::limited, scale_, now, step.debt, cost, 0};
    if (word_.compare_exchange_weak(word, step.word, std::memory_order_relaxed)) {
      return {Outcome::allowed, scale_, now, step.debt, cost, cost};
    }
  }
}

void TokenBucket::give_back(std::uint64_t tokens, Instant now) noexcept {
  std::uint64_t word = word_.load(std::memory_order_relaxed);
  while (!word_.compare_exchange_weak(word, detail::give_back(scale_, word, now, tokens),
                                      std::memory_order_relaxed)) {
  }
}

}  // namespace suimon
