// THE LIST of algorithms. To add one: a file in core/algorithms/ and its lines here.
#pragma once

#include <cstdint>
#include <utility>

#include "suimon/core/algorithms/token_bucket.h"

namespace suimon {

enum class Algorithm : std::uint8_t { token_bucket };

// Calls `use` with the algorithm's type: the one place where a number becomes code.
template <class Use>
constexpr decltype(auto) with_algorithm(Algorithm algorithm, Use&& use) {
  switch (algorithm) {
    case Algorithm::token_bucket:
      break;
  }
  return std::forward<Use>(use)(algorithms::TokenBucket{});
}

}  // namespace suimon
