#include "tests/model/scenario.h"

namespace suimon::model {
namespace {

table::Size size_of(const Scenario& scenario) {
  const auto threads = static_cast<std::uint32_t>(scenario.actors.size());
  table::Size size;
  size.shapes = static_cast<std::uint32_t>(scenario.limits.size());
  size.descriptors = scenario.shared_descriptors != 0 ? scenario.shared_descriptors : threads;
  size.own_descriptors = scenario.shared_descriptors != 0 ? 0 : threads;
  return size;
}

}  // namespace

World::World(const Scenario& scenario)
    : pages_((table::Memory::bytes_for(size_of(scenario)) + table::kPage - 1) / table::kPage),
      memory_(table::Memory::at(pages_.data()->bytes, size_of(scenario))),
      cells_({pages_.data()->bytes, pages_.size() * table::kPage}) {
  for (std::size_t i = 0; i < scenario.limits.size(); ++i) {
    table::ShapeRecord& record = memory_.shapes[i];
    record.scale = {.scale = 1,  // a unit is a nanosecond
                    .token = static_cast<std::uint64_t>(scenario.limits[i].token.count()),
                    .capacity = scenario.limits[i].capacity,
                    .shift = 0};
    record.largest_cost = scenario.limits[i].largest_cost;
    record.own = static_cast<std::uint16_t>(i);
    record.state = table::ShapeRecord::ready;
  }
  memory_.header->horizon = detail::unsigned_ns(scenario.horizon);
  for (const Resident& resident : scenario.residents) {
    slot(resident.slot) = {
        table::id_of(table::fingerprint_of(resident.key), resident.shape, table::Kind::live),
        detail::unsigned_ns(at(resident.full_at))};
  }
  if (scenario.fine) return;
  for (std::uint32_t i = 0; i < memory_.size.descriptors; ++i) {
    for (std::size_t part = 0; part < kMostParts; ++part) {
      table::Entry& entry = memory_.descriptors[i].entries[part];
      for (const table::Slot* slot : {&entry.old, &entry.fresh}) {
        cells_.join(&slot->id);
        cells_.join(&slot->word);
      }
    }
  }
}

Cast World::cast(const Scenario& scenario) const {
  Cast cast;
  cast.threads = static_cast<unsigned>(scenario.actors.size());
  for (std::size_t i = 0; i < scenario.actors.size(); ++i) {
    cast.killable[i] = scenario.actors[i].killable;
    cast.last[i] = scenario.actors[i].last;
  }
  return cast;
}

}  // namespace suimon::model
