#include "suimon/store/reference.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "suimon/base/siphash.h"

namespace suimon {

// One charge on its way through a group.
struct ReferenceStore::Work {
  const Charge* charge = nullptr;
  const Shape* shape = nullptr;  // the newest of the charge's shape
  Shard* shard = nullptr;
  Key key;
  std::uint32_t entry = kAbsent;  // its place in shard->entries
  Step step{};

  static constexpr std::uint32_t kAbsent = ~std::uint32_t{0};
  bool same_state(const Work& other) const { return shard == other.shard && key == other.key; }
};

namespace {

// The identity of a limit's overflow bucket: no secret is needed, it names no client.
Key overflow_key(const Shape& shape) {
  const Hash128 hash = siphash128<1, 3>(SipKey{}, shape.limit);
  return {hash.high, hash.low};
}

Ledger convert(const Ledger& ledger, const Shape& from, const Shape& to, Instant when) {
  return with_algorithm(to.algorithm, [&](auto algorithm) {
    return algorithm.convert(ledger, from.exact, to.exact, when);
  });
}

// `ledger`, written in `from`, as `to` reads it: a change of parameters takes effect at the
// instant at which it came into force, a change of tier at the request that shows it.
Ledger read_as(Ledger ledger, const Shape& from, const Shape& to, Instant now) {
  const Shape* shape = &from;
  while (shape != &to) {
    const Shape* next = shape->successor.load(std::memory_order_acquire);
    if (next == nullptr) return convert(ledger, *shape, to, now);
    ledger = convert(ledger, *shape, *next, next->since);
    shape = next;
  }
  return ledger;
}

Step decide(const Ledger& ledger, const Shape& shape, Instant now, const Charge& charge, Op op) {
  return with_algorithm(shape.algorithm, [&](auto algorithm) {
    return algorithm.decide(ledger, shape.exact, now, charge.amount, op, charge.max_wait);
  });
}

// A small store has few shards, so that its keys can spread unevenly without meeting the bound.
std::uint64_t shard_count(const ReferenceStore::Options& options) {
  const std::uint64_t useful = std::max<std::uint64_t>(1, options.max_keys / 1024);
  return std::bit_floor(std::min<std::uint64_t>(useful, std::max(1U, options.shards)));
}

}  // namespace

ReferenceStore::ReferenceStore(const Options& options)
    : shard_mask_(shard_count(options) - 1),
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
  std::array<Work, kMostCharges> all;
  const std::span<Work> works(all.data(), count);
  std::array<Shard*, kMostCharges> order{};
  for (std::size_t i = 0; i < count; ++i) {
    Work& work = works[i];
    work.charge = &group.charges[i];
    work.shape = (*shapes_)[work.charge->shape].load(std::memory_order_acquire);
    work.key = work.charge->key;
    work.shard = order[i] = &shard_of(work.key);
  }
  // All groups lock in the order of addresses, so no two can wait for each other.
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
  const auto end = std::unique(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
  for (auto shard = order.begin(); shard != end; ++shard) (*shard)->mutex.lock();

  std::unique_lock<std::mutex> overflow_lock(overflow_.mutex, std::defer_lock);
  for (std::size_t i = 0; i < count; ++i) {
    Work& work = works[i];
    if (has_place(work, works.first(i), now)) continue;
    if (!overflow_lock) overflow_lock.lock();
    work.shard = &overflow_;
    work.key = overflow_key(*work.shape);
    overflows_.fetch_add(1, std::memory_order_relaxed);
  }
  // Making room moves entries, so places are looked up when it is over. The newest parameters are
  // read under the locks: an entry is then never in a newer shape than its reader.
  for (Work& work : works) {
    work.shape = &work.shape->newest();
    const auto found = work.shard->index.find(work.key);
    work.entry = found == work.shard->index.end() ? Work::kAbsent : found->second;
  }

  group.taken = true;
  for (std::size_t i = 0; i < count; ++i) {
    step(works[i], works.first(i), now, works[i].charge->op);
    group.taken = group.taken && works[i].step.decision.allowed();
  }
  for (Work& work : works) {
    if (group.taken) {
      if (work.step.writes) keep(work);
    } else if (work.step.decision.allowed()) {
      // Nothing is spent: what is said about this limit is what a look would say.
      step(work, {}, now, Op::peek);
      if (!work.step.decision.allowed()) look(work, now);
    }
  }
  for (std::size_t i = 0; i < count; ++i) group.decisions[i] = works[i].step.decision;

  for (auto shard = order.begin(); shard != end; ++shard) (*shard)->mutex.unlock();
}

// Whether the state of `work` has a place or there is room for it. `earlier` charges of the same
// group may each need a place too; those on the same state share one.
bool ReferenceStore::has_place(const Work& work, std::span<const Work> earlier, Instant now) {
  Shard& shard = *work.shard;
  if (shard.index.contains(work.key)) return true;
  std::size_t others = 0;
  for (const Work& other : earlier) {
    if (other.charge->key == work.key) return other.shard == &shard;
    others += other.shard == &shard ? 1 : 0;
  }
  while (shard.entries.size() + others >= keys_per_shard_) {
    if (!make_room(shard, now)) return false;
  }
  return true;
}

// Drops one entry that equals an absent one, if a short look finds any.
bool ReferenceStore::make_room(Shard& shard, Instant now) {
  const auto size = static_cast<std::uint32_t>(shard.entries.size());
  for (std::uint32_t look = 0; look < std::min(kLook, size); ++look) {
    shard.hand = shard.hand + 1 < size ? shard.hand + 1 : 0;
    const Instant full_at = shard.entries[shard.hand].full_at;
    if (full_at > now || full_at == Instant::max()) continue;  // the end of time stands for later
    drop(shard, shard.hand);
    return true;
  }
  return false;
}

void ReferenceStore::drop(Shard& shard, std::uint32_t at) {
  Entry& entry = shard.entries[at];
  shard.horizon = std::max(shard.horizon, entry.full_at);
  shard.index.erase(entry.key);
  if (at + 1 != shard.entries.size()) {
    entry = shard.entries.back();
    shard.index.find(entry.key)->second = at;
  }
  shard.entries.pop_back();
  entries_.fetch_sub(1, std::memory_order_relaxed);
}

// Decides one charge. A second charge on one state within a group starts where the one before it
// ended.
void ReferenceStore::step(Work& work, std::span<const Work> earlier, Instant now, Op op) {
  const Before stored = before(work, now);
  Ledger ledger = stored.ledger;
  std::uint64_t joint = work.charge->amount;
  for (const Work& other : earlier) {
    if (!other.same_state(work) || !other.step.writes) continue;
    ledger = read_as(other.step.after, *other.shape, *work.shape, now);
    if (__builtin_add_overflow(joint, other.step.decision.granted(), &joint)) joint = ~0ULL;
  }
  work.step = decide(ledger, *work.shape, stored.now, *work.charge, op);
  if (work.step.decision.limited() && joint > work.shape->parameters.capacity) {
    // Together they never fit, so there is no instant to wait for.
    Charge together = *work.charge;
    together.amount = joint;
    work.step = decide(stored.ledger, *work.shape, stored.now, together, op);
  }
}

// A charge that is not spent only because another one of its group was refused: allowed, with the
// state as it stands.
void ReferenceStore::look(Work& work, Instant now) {
  const Before stored = before(work, now);
  Charge nothing = *work.charge;
  nothing.amount = 0;
  work.step = decide(stored.ledger, *work.shape, stored.now, nothing, Op::take_up_to);
}

ReferenceStore::Before ReferenceStore::before(const Work& work, Instant now) {
  if (work.entry == Work::kAbsent) {
    // A state that was dropped was full no later than the horizon; an older reading of the clock
    // must not find it full before that.
    return {Ledger{}, std::max(now, work.shard->horizon)};
  }
  const Entry& entry = work.shard->entries[work.entry];
  return {read_as(entry.ledger, *entry.shape, *work.shape, now), now};
}

void ReferenceStore::keep(const Work& work) {
  Shard& shard = *work.shard;
  const Ledger& ledger = work.step.after;
  const Duration to_full = with_algorithm(work.shape->algorithm, [&](auto algorithm) {
    return algorithm.time_to_full(ledger, work.shape->exact);
  });
  const Entry entry{work.key, ledger, ledger.at + to_full, work.shape};
  const auto [place, added] =
      shard.index.try_emplace(work.key, static_cast<std::uint32_t>(shard.entries.size()));
  if (!added) {
    shard.entries[place->second] = entry;
    return;
  }
  shard.entries.push_back(entry);
  if (&shard != &overflow_) entries_.fetch_add(1, std::memory_order_relaxed);
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
