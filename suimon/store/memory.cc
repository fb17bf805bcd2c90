#include "suimon/store/memory.h"

namespace suimon {

Result<std::unique_ptr<Store>> MemoryStore::open(const Options& options) {
  auto table = table::Table::make({.keys = options.max_keys, .when_full = options.when_full});
  if (!table) return tl::unexpected(table.error());
  return std::unique_ptr<Store>(new MemoryStore(std::move(*table)));
}

void MemoryStore::take(std::span<Group> groups, Instant now, Done done) {
  // The memory of all of them is on its way before the first is decided.
  for (const Group& group : groups) {
    for (const Charge& charge : group.charges) table_.prepare_many(charge.key.low);
  }
  for (Group& group : groups) group.taken = table_.take(group.charges, group.decisions, now);
  done.run(done.context, {});
}

StoreFigures MemoryStore::figures() const {
  const table::Figures table = table_.figures();
  return {.entries = table.entries,
          .bytes = table_.bytes().size(),
          .evictions = table.evictions,
          .overflows = table.overflows};
}

}  // namespace suimon
