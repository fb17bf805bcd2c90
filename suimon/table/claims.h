// Claims: several slots changed as one, without a lock.
//
// The owner writes down what each slot is to become, claims the slots one after the other, commits
// by one CAS, and releases them. Whoever meets a claim reads the slot's state from the descriptor
// and never waits for that; whoever must write there waits a moment, then breaks a claim that is
// not yet committed, or finishes one that is. So an owner that dies at any step blocks nobody:
// uncommitted, nothing was charged; committed, all of it was.
#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "suimon/table/layout.h"

namespace suimon::table {

// What one slot is to become: the slot, as it was read (or the PENDING that holds its place), and
// as it will be: empty for a state that goes to another slot.
struct Change {
  Slot* slot = nullptr;
  Slot seen{};
  Slot fresh{};
};

template <class Steps>
class Claims {
 public:
  explicit Claims(const Memory& memory) : memory_(memory) {}

  // Applies all changes or none; at most kMostCharges, of different slots. False when a slot was
  // not as it was seen, or a rival broke the claim: then nothing has changed.
  bool apply(std::span<const Change> changes) {
    Descriptor& descriptor = acquire();
    const std::uint64_t seq = seq_of(Steps::load(descriptor.status));
    const std::uint64_t number = number_of(descriptor);
    write_down(descriptor, changes);
    Steps::store(descriptor.status, status_of(seq, State::undecided));

    std::size_t claimed = 0;
    while (claimed < changes.size() &&
           Steps::cas(*changes[claimed].slot, changes[claimed].seen,
                      {claim_id(changes[claimed].seen, changes[claimed].fresh),
                       word_of({number, seq, claimed})})) {
      ++claimed;
    }
    // Deciding is a CAS, because a rival may have broken the claim.
    const bool all = claimed == changes.size();
    const State decision = all ? State::committed : State::aborted;
    const bool decided =
        Steps::cas(descriptor.status, status_of(seq, State::undecided), status_of(seq, decision));
    const bool committed = all && decided;
    for (std::size_t i = 0; i < claimed; ++i) release(descriptor, seq, i, committed);
    retire(descriptor, seq);
    return committed;
  }

  // What a claimed slot's state is now: `old` (empty when the key was absent) or `fresh`. Nothing
  // when the claim is over: read the slot again.
  std::optional<Slot> state_of_claimed(const Slot& seen) const {
    const auto entry = entry_of(seen);
    if (!entry) return std::nullopt;
    return entry->committed ? entry->fresh : entry->old;
  }

  // Ends a claim that is in the way: waits a little, breaks it if it is still not decided, and
  // releases this slot as its owner would.
  void settle(Slot& slot, const Slot& seen) {
    const Ref ref = ref_of(seen.word);
    if (ref.descriptor >= memory_.size.descriptors) return orphaned(slot, seen);
    Descriptor& descriptor = memory_.descriptors[ref.descriptor];
    const std::uint64_t undecided = status_of(ref.seq, State::undecided);
    for (unsigned i = 0; i < Steps::kPatience; ++i) {
      if (Steps::load(descriptor.status) != undecided) break;
      Steps::pause();
    }
    if (Steps::cas(descriptor.status, undecided, status_of(ref.seq, State::aborted))) {
      Steps::count(memory_.shards, &Shard::aborts, 1);
    }
    const auto entry = entry_of(seen);
    if (!entry) return orphaned(slot, seen);
    end(slot, seen, entry->committed ? entry->fresh : entry->old);
  }

 private:
  struct Written {
    Slot old, fresh;
    bool committed;
  };

  // Under a claim a slot keeps the key that it has or gets.
  static std::uint64_t claim_id(const Slot& old, const Slot& fresh) {
    return with_kind(kind_of(fresh.id) == Kind::empty ? old.id : fresh.id, Kind::claimed);
  }

  // The entry that a claimed slot names, if its decision is still the descriptor's.
  std::optional<Written> entry_of(const Slot& seen) const {
    const Ref ref = ref_of(seen.word);
    if (ref.descriptor >= memory_.size.descriptors) return std::nullopt;
    Descriptor& descriptor = memory_.descriptors[ref.descriptor];
    const Entry& entry = descriptor.entries[ref.entry];
    Written written{{Steps::load(entry.old.id), Steps::load(entry.old.word)},
                    {Steps::load(entry.fresh.id), Steps::load(entry.fresh.word)},
                    false};
    // The status last: if it is still this decision's, so were the entries.
    const std::uint64_t status = Steps::load(descriptor.status);
    if (seq_of(status) != ref.seq) return std::nullopt;
    written.committed = state_of(status) == State::committed;
    return written;
  }

  // A claim that belongs to no decision cannot be, unless memory was damaged: the slot becomes
  // free. A claim that is over looks the same for a moment, so the slot is looked at once more.
  void orphaned(Slot& slot, const Slot& seen) {
    const Ref ref = ref_of(seen.word);
    if (ref.descriptor < memory_.size.descriptors) {
      const std::uint64_t status = Steps::load(memory_.descriptors[ref.descriptor].status);
      if (seq_of(status) == ref.seq) return;
    }
    if (Steps::load(slot) == seen) end(slot, seen, Slot{});
  }

  void end(Slot& slot, const Slot& seen, const Slot& state) {
    if (Steps::cas(slot, seen, state) && kind_of(state.id) == Kind::empty && is_in_lines(slot)) {
      Steps::count(memory_.shards, &Shard::entries, ~std::uint64_t{0});
    }
  }
  std::uint64_t number_of(const Descriptor& descriptor) const {
    return static_cast<std::uint64_t>(&descriptor - memory_.descriptors);
  }
  bool is_in_lines(const Slot& slot) const { return &slot >= memory_.lines; }

  void write_down(Descriptor& descriptor, std::span<const Change> changes) {
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const Change& change = changes[i];
      Entry& entry = descriptor.entries[i];
      const bool absent = kind_of(change.seen.id) != Kind::live;
      Steps::store(entry.slot, static_cast<std::uint64_t>(change.slot - memory_.slots));
      Steps::store(entry.old.id, absent ? 0 : change.seen.id);
      Steps::store(entry.old.word, absent ? 0 : change.seen.word);
      Steps::store(entry.fresh.id, change.fresh.id);
      Steps::store(entry.fresh.word, change.fresh.word);
    }
    Steps::store(descriptor.count, changes.size());
  }

  void release(Descriptor& descriptor, std::uint64_t seq, std::size_t i, bool committed) {
    const Entry& entry = descriptor.entries[i];
    const Slot claim{claim_id(entry.old, entry.fresh), word_of({number_of(descriptor), seq, i})};
    end(memory_.slots[entry.slot], claim, committed ? entry.fresh : entry.old);
  }

  // A descriptor for this thread: its own, if the table has one for every thread of the only
  // process.
  Descriptor& acquire() {
    const unsigned thread = Steps::thread();
    if (thread < memory_.size.own_descriptors) [[likely]]
      return memory_.descriptors[thread];
    return acquire_shared();
  }

  // One of those that any thread may take: usually the one that it had before.
  Descriptor& acquire_shared() {
    const std::uint64_t self = Steps::self();
    const std::uint32_t own = memory_.size.own_descriptors;
    const std::uint32_t count = memory_.size.descriptors - own;
    for (;;) {
      for (std::uint32_t i = 0; i < count; ++i) {
        Descriptor& descriptor = memory_.descriptors[own + (Steps::thread() + i) % count];
        if (Steps::load(descriptor.holder) == 0 && Steps::cas(descriptor.holder, 0, self)) {
          return descriptor;
        }
      }
      // All are in use: by living threads, which are quick, or by processes that were killed.
      for (std::uint32_t i = 0; i < count; ++i) {
        Descriptor& descriptor = memory_.descriptors[own + i];
        const std::uint64_t holder = Steps::load(descriptor.holder);
        if (holder != 0 && Steps::is_gone(holder, own != 0) &&
            Steps::cas(descriptor.holder, holder, self)) {
          finish(descriptor);
          return descriptor;
        }
      }
      Steps::yield();
    }
  }

  // Does for an owner that is gone what it did not come to do. What it wrote down lies in memory
  // that others may have damaged, so nothing in it is believed to be in range.
  void finish(Descriptor& descriptor) {
    const std::uint64_t status = Steps::load(descriptor.status);
    const std::uint64_t seq = seq_of(status);
    if (state_of(status) == State::idle) return;
    Steps::cas(descriptor.status, status_of(seq, State::undecided), status_of(seq, State::aborted));
    const bool committed = state_of(Steps::load(descriptor.status)) == State::committed;
    const std::size_t slots = Memory::bytes_for(memory_.size) / sizeof(Slot);
    const std::size_t count = std::min<std::size_t>(descriptor.count, kMostCharges);
    for (std::size_t i = 0; i < count; ++i) {
      if (descriptor.entries[i].slot < slots) release(descriptor, seq, i, committed);
    }
    Steps::store(descriptor.status, status_of(seq + 1, State::idle));
  }

  void retire(Descriptor& descriptor, std::uint64_t seq) {
    Steps::store(descriptor.status, status_of(seq + 1, State::idle));
    if (number_of(descriptor) >= memory_.size.own_descriptors) Steps::store(descriptor.holder, 0);
  }

  Memory memory_;
};

}  // namespace suimon::table
