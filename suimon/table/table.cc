#include "suimon/table/table.h"

#include <algorithm>
#include <utility>

namespace suimon::table {

Result<Table> Table::make(const Options& options) {
  Size size = Size::for_keys(options.keys, options.shapes, options.descriptors);
  // Most descriptors belong to threads, by their numbers, which are unique in one process only.
  if (!options.shared) {
    size.own_descriptors = options.descriptors - std::max(1U, options.descriptors / 5);
  }
  auto region = Region::make(Memory::bytes_for(size), options.shared);
  if (!region) return tl::unexpected(region.error());
  return Table(std::move(*region), size, options.when_full);
}

Table::Table(Region region, const Size& size, WhenFull when_full)
    : region_(std::move(region)),
      memory_(Memory::at(region_.data(), size)),
      basic_(memory_, when_full) {}

Result<void> Table::adopt(std::span<const Shape* const> shapes) {
  for (const Shape* shape : shapes) {
    if (auto adopted = adopt_one(*shape); !adopted) return adopted;
  }
  return {};
}

Result<void> Table::adopt_one(const Shape& shape) {
  if (shape.number >= memory_.size.shapes) {
    return failure("this table was made for " + std::to_string(memory_.size.shapes) + " limits");
  }
  ShapeRecord& record = memory_.shapes[shape.number];
  __atomic_store_n(&record.largest_cost, shape.largest_cost.load(std::memory_order_relaxed),
                   __ATOMIC_RELAXED);
  if (record.state == ShapeRecord::ready) return {};
  // What a shape replaced is known before it: the chain of successors has no gap.
  if (shape.predecessor != nullptr) {
    if (auto adopted = adopt_one(*shape.predecessor); !adopted) return adopted;
  }
  record.scale = shape.word;
  record.since = shape.since;
  record.algorithm = shape.algorithm;
  __atomic_store_n(&record.successor, std::uint16_t{0}, __ATOMIC_RELAXED);
  record.own = own_places_.try_emplace(shape.limit, shape.number).first->second;
  __atomic_store_n(&record.state, ShapeRecord::ready, __ATOMIC_RELEASE);
  if (shape.predecessor != nullptr) {
    __atomic_store_n(&memory_.shapes[shape.predecessor->number].successor,
                     static_cast<std::uint16_t>(shape.number + 1), __ATOMIC_RELEASE);
  }
  return {};
}

void Table::forget(std::span<const Shape* const> shapes) {
  for (const Shape* shape : shapes) {
    __atomic_store_n(&memory_.shapes[shape->number].state, ShapeRecord::free, __ATOMIC_RELEASE);
  }
}

Decision Table::take_one(const Charge& charge, Instant now) {
  Decision decision;
  basic_.take_one(charge, decision, now);
  return decision;
}

Figures Table::figures() const {
  Figures sum;
  for (unsigned i = 0; i < kShards; ++i) {
    const Shard& shard = memory_.shards[i];
    sum.entries += RealSteps::load(shard.entries);
    sum.evictions += RealSteps::load(shard.evictions);
    sum.forgiven += RealSteps::load(shard.forgiven);
    sum.overflows += RealSteps::load(shard.overflows);
    sum.aborts += RealSteps::load(shard.aborts);
  }
  return sum;
}

}  // namespace suimon::table
