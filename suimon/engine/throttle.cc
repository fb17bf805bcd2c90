#include "suimon/engine/throttle.h"

#include <algorithm>

namespace suimon {

// Each set has one place, which another one may take over: it is asked for again then.
Throttle::Remembered& Throttle::place_of(const ThrottleSet& set) {
  std::uint64_t mixed = set.capacity * 0x9e3779b97f4a7c15ULL;
  mixed ^= static_cast<std::uint64_t>(set.interval.count()) * 0xc2b2ae3d27d4eb4fULL;
  return remembered_[(mixed ^ (mixed >> 32)) * 0x9e3779b97f4a7c15ULL >> 51];
}

Result<ShapeNumber> Throttle::number_of(const ThrottleSet& set) {
  static_assert(kPlaces == std::size_t{1} << 13, "place_of() takes the 13 highest bits");
  if (const std::uint64_t generation = sets_.generation(); generation != generation_) [[unlikely]] {
    generation_ = generation;
    remembered_.assign(kPlaces, Remembered{});
  }
  Remembered& place = place_of(set);
  if (place.number != kNone && place.set == set) [[likely]] {
    return static_cast<ShapeNumber>(place.number);
  }
  auto number = sets_.number_of(set, now_);
  if (number) place = {set, *number};
  return number;
}

void Throttle::take(std::span<Group> groups, Done done) {
  if (!renewed_) {
    renewed_ = true;
    now_ = std::max(now_, clock_.now());
  }
  store_.take(groups, now_, done);
}

}  // namespace suimon
