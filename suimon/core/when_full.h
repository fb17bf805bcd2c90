// What a newcomer gets from a store whose every place belongs to somebody who is limited.
//
// Nobody who is limited loses his state for a newcomer, whatever is chosen; each such charge is
// counted as an overflow.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "suimon/core/algorithms.h"

namespace suimon {

enum class WhenFull : std::uint8_t {
  share,   // all newcomers of a limit share one bucket of it
  refuse,  // as from an empty bucket
  pardon,  // as from a full bucket, and nothing is kept: unlimited while it lasts
};
inline constexpr std::array<std::string_view, 3> kWhenFullNames = {"share", "refuse", "pardon"};

// The state by which a newcomer is decided when nothing is shared and nothing is kept.
template <class State>
State stand_in(WhenFull choice, Algorithm algorithm, const detail::Scale& scale, Instant now) {
  if (choice == WhenFull::pardon) return {};
  return with_algorithm(algorithm, [&](auto chosen) {
    return chosen.decide(State{}, scale, now, scale.capacity, Op::take, Duration(0)).after;
  });
}

}  // namespace suimon
