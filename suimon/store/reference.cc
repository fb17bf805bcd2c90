#include "suimon/store/reference.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "suimon/base/siphash.h"

namespace suimon {

// Where the state of one charge is or would be.
struct ReferenceStore::Place {
  const Charge* charge = nullptr;
  Shard* shard = nullptr;
  Key key;
  std::uint32_t entry = kAbsent;  // in shard->entries
  bool unkept = false;            // there is no place for it, and nothing is shared

  static constexpr std::uint32_t kAbsent = ~std::uint32_t{0};
  bool operator==(const Place& other) const { return shard == other.shard && key == other.key; }
};

namespace {

// The identity of a limit's overflow bucket: no secret is needed, it names no client.
Key overflow_key(const Shape& shape) {
  const Hash128 hash = siphash128<1, 3>(SipKey{}, shape.limit);
  return {hash.high, hash.low};
}

// A small store has few shards, so that its keys can spread unevenly without meeting the bound.
std::uint64_t shard_count(const ReferenceStore::Options& options) {
  const std::uint64_t useful = std::max<std::uint64_t>(1, options.max_keys / 1024);
  return std::bit_floor(std::min<std::uint64_t>(useful, std::max(1U, options.shards)));
}

}  // namespace

ReferenceStore::ReferenceStore(const Options& options)
    : when_full_(options.when_full),
      shard_mask_(shard_count(options) - 1),
      keys_per_shard_(std::max<std::uint64_t>(1, options.max_keys / (shard_mask_ + 1))),
      shards_(shard_mask_ + 1),
      shapes_(std::make_unique<std::array<std::atomic<const Shape*>, Shapes::kMost>>()) {}

Result<void> ReferenceStore::adopt(std::span<const Shape* const> shapes) {
  for (const Shape* shape : shapes) {
    (*shapes_)[shape->number].store(shape, std::memory_order_release);
  }
  return {};
}

void ReferenceStore::take(std::span<Group> groups, Instant now, Done done) {
  for (Group& group : groups) take_group(group, now);
  done.run(done.context, {});
}

void ReferenceStore::take_group(Group& group, Instant now) {
  assert(group.charges.size() <= kMostCharges && group.decisions.size() == group.charges.size());
  const std::size_t count = group.charges.size();
  std::array<Place, kMostCharges> all;
  const std::span<Place> places(all.data(), count);
  std::array<Shard*, 2 * kMostCharges> order{};
  std::ptrdiff_t shards = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Charge& charge = group.charges[i];
    Shard* const shard = &shard_of(charge.key);
    order[static_cast<std::size_t>(shards++)] = shard;
    if (charge.rekey != Rekey::none) {
      order[static_cast<std::size_t>(shards++)] = &shard_of(charge.other);
    }
    places[i] = {.charge = &charge, .shard = shard, .key = charge.key};
  }
  // All groups lock in the order of addresses, so no two can wait for each other.
  std::sort(order.begin(), order.begin() + shards);
  const auto end = std::unique(order.begin(), order.begin() + shards);
  for (auto shard = order.begin(); shard != end; ++shard) (*shard)->mutex.lock();

  std::array<Charge, kMostCharges> unkept;
  std::unique_lock<std::mutex> overflow_lock(overflow_.mutex, std::defer_lock);
  for (std::size_t i = 0; i < count; ++i) {
    Place& place = places[i];
    if (place.charge->rekey != Rekey::none) settle_on_key(place);
    if (has_place(place, places.first(i), now)) continue;
    overflows_.fetch_add(1, std::memory_order_relaxed);
    if (when_full_ != WhenFull::share) {
      place.unkept = true;
      unkept[i] = *place.charge;
      unkept[i].max_wait = Duration(0);  // what is not kept cannot be waited for either
      place.charge = &unkept[i];
      continue;
    }
    if (!overflow_lock) overflow_lock.lock();
    place.shard = &overflow_;
    place.key = overflow_key(*shape_of(*place.charge));
  }
  std::array<Account, kMostCharges> accounts;
  for (std::size_t i = 0; i < count; ++i) {
    accounts[i] = open(places[i], now);
    while (!(places[accounts[i].place] == places[i])) ++accounts[i].place;
  }
  group.taken = decide_jointly<Ledger, LedgerView>({accounts.data(), count});
  for (std::size_t i = 0; i < count; ++i) {
    if (accounts[i].step.writes && !places[i].unkept) keep(places[i], accounts[i]);
    group.decisions[i] = accounts[i].step.decision;
  }
  for (auto shard = order.begin(); shard != end; ++shard) (*shard)->mutex.unlock();
}

const Shape* ReferenceStore::shape_of(const Charge& charge) const {
  return (*shapes_)[charge.shape].load(std::memory_order_acquire);
}

// Where the state of a client with two keys lies. It goes to the newer one if it may and there is
// room. Requires that both shards are locked.
void ReferenceStore::settle_on_key(Place& place) {
  const Charge& charge = *place.charge;
  Shard& from = shard_of(charge.other);
  const auto other = from.index.find(charge.other);
  if (other == from.index.end() || place.shard->index.contains(charge.key)) return;
  const bool has_room = place.shard == &from || place.shard->entries.size() < keys_per_shard_;
  if (charge.rekey == Rekey::accept || !has_room) {
    place.shard = &from;
    place.key = charge.other;
    return;
  }
  Entry entry = from.entries[other->second];
  take_out(from, other->second);
  entry.key = charge.key;
  place.shard->index.emplace(entry.key, static_cast<std::uint32_t>(place.shard->entries.size()));
  place.shard->entries.push_back(entry);
}

// Whether the state of a charge has a place or there is room for it. `earlier` charges of the same
// group may each need a place too; those on the same state share one.
bool ReferenceStore::has_place(const Place& place, std::span<const Place> earlier, Instant now) {
  Shard& shard = *place.shard;
  if (shard.index.contains(place.key)) return true;
  std::size_t others = 0;
  for (const Place& other : earlier) {
    if (other.charge->key == place.key) return other.shard == &shard;
    others += other.shard == &shard ? 1 : 0;
  }
  while (shard.entries.size() + others >= keys_per_shard_) {
    if (!make_room(shard, now)) return false;
  }
  return true;
}

// When an entry equals an absent one, by the parameters that are in force.
Instant ReferenceStore::full_again(Entry& entry) {
  const LedgerView written{entry.shape};
  const LedgerView shape{&entry.shape->newest()};
  if (!(written == shape)) {
    entry.ledger = read_as(entry.ledger, written, shape, entry.ledger.at);
    entry.shape = shape.shape;
    entry.full_at = full_at(entry.ledger, shape);
  }
  return entry.full_at;
}

Instant ReferenceStore::full_at(const Ledger& ledger, LedgerView shape) {
  return ledger.at + with_algorithm(shape.algorithm(), [&](auto algorithm) {
           return algorithm.time_to_full(ledger, shape.scale());
         });
}

// Drops one entry that equals an absent one, if a short look finds any.
bool ReferenceStore::make_room(Shard& shard, Instant now) {
  const auto size = static_cast<std::uint32_t>(shard.entries.size());
  for (std::uint32_t look = 0; look < std::min(kLook, size); ++look) {
    shard.hand = shard.hand + 1 < size ? shard.hand + 1 : 0;
    const Instant full_at = full_again(shard.entries[shard.hand]);
    if (full_at > now || full_at == Instant::max()) continue;  // the end of time stands for later
    drop(shard, shard.hand);
    return true;
  }
  return false;
}

void ReferenceStore::drop(Shard& shard, std::uint32_t at) {
  shard.horizon = std::max(shard.horizon, shard.entries[at].full_at);
  take_out(shard, at);
  entries_.fetch_sub(1, std::memory_order_relaxed);
}

void ReferenceStore::take_out(Shard& shard, std::uint32_t at) {
  Entry& entry = shard.entries[at];
  shard.index.erase(entry.key);
  if (at + 1 != shard.entries.size()) {
    entry = shard.entries.back();
    shard.index.find(entry.key)->second = at;
  }
  shard.entries.pop_back();
}

// What is kept for a charge, as the newest parameters read it. Making room moves entries, so this
// is looked up when it is over; and under the locks no entry is in a newer shape than its reader.
ReferenceStore::Account ReferenceStore::open(Place& place, Instant now) {
  const LedgerView shape{&shape_of(*place.charge)->newest()};
  if (place.unkept) {
    return {.charge = place.charge,
            .shape = shape,
            .stored = stand_in<Ledger>(when_full_, shape.algorithm(), shape.scale(), now),
            .now = now};
  }
  const Shard& shard = *place.shard;
  const auto found = shard.index.find(place.key);
  if (found == shard.index.end()) {
    // A state that was dropped was full no later than the horizon; an older reading of the clock
    // must not find it full before that.
    return {.charge = place.charge, .shape = shape, .now = std::max(now, shard.horizon)};
  }
  place.entry = found->second;
  const Entry& entry = shard.entries[place.entry];
  return {.charge = place.charge,
          .shape = shape,
          .stored = read_as(entry.ledger, LedgerView{entry.shape}, shape, now),
          .now = now};
}

void ReferenceStore::keep(const Place& place, const Account& account) {
  Shard& shard = *place.shard;
  const Ledger& ledger = account.step.after;
  const Entry entry{place.key, ledger, full_at(ledger, account.shape), account.shape.shape};
  const auto [at, added] =
      shard.index.try_emplace(place.key, static_cast<std::uint32_t>(shard.entries.size()));
  if (!added) {
    shard.entries[at->second] = entry;
    return;
  }
  shard.entries.push_back(entry);
  if (&shard != &overflow_) entries_.fetch_add(1, std::memory_order_relaxed);
}

bool ReferenceStore::convert_replaced() {
  const auto convert = [](Shard& shard) {
    const std::lock_guard lock(shard.mutex);
    for (Entry& entry : shard.entries) full_again(entry);
  };
  for (Shard& shard : shards_) convert(shard);
  convert(overflow_);
  return true;
}

StoreFigures ReferenceStore::figures() const {
  StoreFigures figures;
  figures.entries = entries_.load(std::memory_order_relaxed);
  // A state is an entry, its key in the index and a place for it, at most.
  figures.bytes = figures.entries * (sizeof(Entry) + sizeof(Key) + 2 * sizeof(std::uint64_t));
  figures.overflows = overflows_.load(std::memory_order_relaxed);
  return figures;
}

}  // namespace suimon
