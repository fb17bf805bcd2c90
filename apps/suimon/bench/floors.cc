#include "apps/suimon/bench/floors.h"

#include <cstring>

#include "apps/suimon/bench/two.h"
#include "suimon/table/steps.h"
#include "suimon/time.h"

namespace suimon::app::measure {

using table::RealSteps;
using table::Slot;

Floors::Floors(table::Region region)
    : region_(std::move(region)),
      slots_(reinterpret_cast<Slot*>(region_.data())),
      lines_(region_.bytes().size() / 64) {
  std::memset(region_.data(), 1, region_.bytes().size());
}

double Floors::clock(std::size_t count) const {
  return time_of(count, [](std::size_t) { keep(boot_now().ns); });
}

double Floors::cas16(std::size_t count) {
  Slot& slot = slots_[0];
  return time_of(count, [&](std::size_t) {
    const Slot seen = RealSteps::load(slot);
    keep(RealSteps::cas(slot, seen, {seen.id, seen.word + 1}));
  });
}

double Floors::dram(std::size_t count) {
  return time_of(count, [&](std::size_t) {
    const std::uint64_t line = mixed(at_) % lines_;
    at_ += RealSteps::load(slots_[line * 4].id);
  });
}

double Floors::contended_cas16(std::size_t count) {
  alignas(64) static Slot slot;
  return time_of_two(count, [&](unsigned) {
    for (Slot seen = RealSteps::load(slot); !RealSteps::cas(slot, seen, {seen.id, seen.word + 1});
         seen = RealSteps::load(slot)) {
    }
  });
}

}  // namespace suimon::app::measure
