// Places: where a key lies, and how a new key gets a place of its own, exactly one.
//
// A new key is inserted in two steps. First a PENDING mark with a number that is never used twice
// takes the place; it holds no state. Then all other candidates are looked at once more: of two
// marks for one key the one at the lower candidate stays, and where the key lives already, the mark
// goes. Only who has seen no other copy after his own mark was placed makes it live, so two copies
// never live together. A thread that dies leaves a mark without a debt, which anybody may take or
// finish.
//
// Absent means "full at the horizon H": before a state that is full again gives way, H is raised to
// an instant at which it was full, and a new key starts no earlier than H.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "suimon/core/joint.h"
#include "suimon/table/cures.h"
#include "suimon/table/layout.h"

namespace suimon::table {

template <class Steps, Cures kCures>
class Places {
 public:
  explicit Places(const Memory& memory) : memory_(memory) {}

  struct Found {
    Slot* slot = nullptr;  // null: absent
    Slot seen{};           // live, claimed or pending
  };

  Candidates candidates(const Key& key) const {
    return Candidates(memory_, Steps::kSlotsInLine, key);
  }

  // The key's place: where it lives or is claimed; else where it is pending; else absent.
  Found find(const Candidates& key) const {
    for (;;) {
      Found pending;
      bool moved = false;
      for (unsigned i = 0; i < kCandidates && !moved; ++i) {
        Slot& slot = candidate(key, i);
        const std::uint64_t id = Steps::load(slot.id);
        if (fingerprint_of(id) != key.fingerprint || kind_of(id) == Kind::empty) continue;
        const Slot seen = read(slot, id);
        moved = fingerprint_of(seen.id) != key.fingerprint || kind_of(seen.id) == Kind::empty;
        if (moved) break;
        if (kind_of(seen.id) != Kind::pending) return {&slot, seen};
        if (pending.slot == nullptr) pending = {&slot, seen};
      }
      if (!moved) return pending;
    }
  }

  // A place that an absent key may take.
  struct Victim {
    Slot* slot = nullptr;  // null: everybody here is limited, or the key has come meanwhile
    Slot seen{};
    bool was_full_late = false;  // it is full at the thread's clock, and was not at H
    bool evicted = false;        // it owes something
    std::uint64_t forgiven = 0;  // tokens that it owes
    Slot* claimed = nullptr;     // none is free, and this one is in a decision that may have died
    bool key_is_here = false;    // look for the key again

    bool is_none() const { return slot == nullptr && claimed == nullptr && !key_is_here; }
  };

  // `other`: of a client with two keys, where else he may stand; null: nowhere. `taken`: places
  // that must stay as they are.
  Victim victim_for(const Candidates& key, const Candidates* other, Instant now,
                    std::span<Slot* const> taken) const {
    const Instant horizon = this->horizon();
    std::array<Choice, kLines> lines;
    for (unsigned line = 0; line < kLines; ++line) {
      lines[line] = choice_in(key, other, line, now, horizon, taken);
      if (lines[line].key_is_here) return {.key_is_here = true};
      // The third line only when the first two are full of live entries.
      if (line == 1 && lines[0].free + lines[1].free > 0) break;
    }
    const Choice* best = &lines[0];
    for (const Choice& choice : lines) {
      if (choice.free > best->free) best = &choice;
    }
    if (best->free > 0) {
      return {
          .slot = best->slot, .seen = best->seen, .was_full_late = best->rank == Rank::full_late};
    }
    Victim victim;
    for (const Choice& choice : lines) {
      if (victim.claimed == nullptr) victim.claimed = choice.claimed;
      if (choice.weight < best->weight) best = &choice;
    }
    victim.slot = best->slot;
    victim.seen = best->seen;
    victim.evicted = best->slot != nullptr;
    victim.forgiven = best->forgiven;
    return victim;
  }

  // Marks the victim's place for the key: what the mark is, or nothing when somebody was faster.
  std::optional<Slot> mark(const Candidates& key, const Victim& victim, ShapeNumber shape,
                           Instant now) {
    if (kCures.horizon && victim.was_full_late) raise_horizon(now);
    const Slot mark{id_of(key.fingerprint, shape, Kind::pending), Steps::nonce(memory_.shards)};
    if (!Steps::cas(*victim.slot, victim.seen, mark)) return std::nullopt;
    if (kind_of(victim.seen.id) == Kind::empty) Steps::count(memory_.shards, &Shard::entries, 1);
    if (victim.evicted) {
      Steps::count(memory_.shards, &Shard::evictions, 1);
      Steps::count(memory_.shards, &Shard::forgiven, victim.forgiven);
    }
    return mark;
  }

  // Whether the marked key is alone: then whoever looks may make the mark live. Otherwise one of
  // the marks, or this one beside a living copy, is gone.
  bool verify(const Candidates& key, Slot* place, const Slot& mark) {
    if (!kCures.verify) return true;
    unsigned mine = 0;
    while (&candidate(key, mine) != place) ++mine;
    for (unsigned i = 0; i < kCandidates; ++i) {
      if (i == mine) continue;
      Slot& slot = candidate(key, i);
      const std::uint64_t id = Steps::load(slot.id);
      if (fingerprint_of(id) != key.fingerprint || kind_of(id) == Kind::empty) continue;
      const Slot other = read(slot, id);
      if (fingerprint_of(other.id) != key.fingerprint || kind_of(other.id) == Kind::empty) {
        return false;  // it moved: look again from the start
      }
      const bool later_mark = kind_of(other.id) == Kind::pending && i > mine;
      drop(later_mark ? slot : *place, later_mark ? other : mark);
      return false;
    }
    return true;
  }

  // After verify(), while secrets are exchanged: whether the key does not stand under its other
  // name either. Of two marks under two names that of the newer one stays.
  bool verify_other(const Candidates& other, bool is_older, Slot* place, const Slot& mark) {
    if (!kCures.both_keys) return true;
    for (unsigned i = 0; i < kCandidates; ++i) {
      Slot& slot = candidate(other, i);
      const std::uint64_t id = Steps::load(slot.id);
      if (fingerprint_of(id) != other.fingerprint || kind_of(id) == Kind::empty) continue;
      const Slot seen = read(slot, id);
      if (fingerprint_of(seen.id) != other.fingerprint || kind_of(seen.id) == Kind::empty) {
        return false;  // it moved: look again from the start
      }
      if (&slot == place) continue;  // two keys of one client that the table cannot tell apart
      const bool other_goes = kind_of(seen.id) == Kind::pending && is_older;
      drop(other_goes ? slot : *place, other_goes ? seen : mark);
      return false;
    }
    return true;
  }

  // Takes a mark away that will not live.
  void drop(Slot& slot, const Slot& mark) {
    if (Steps::cas(slot, mark, Slot{})) {
      Steps::count(memory_.shards, &Shard::entries, ~std::uint64_t{0});
    }
  }

  void raise_horizon(Instant now) {
    const std::uint64_t wanted = detail::unsigned_ns(now);
    for (;;) {
      const std::uint64_t horizon = Steps::load(memory_.header->horizon);
      if (horizon >= wanted || Steps::cas(memory_.header->horizon, horizon, wanted)) return;
    }
  }
  Instant horizon() const { return from_unsigned(Steps::load(memory_.header->horizon)); }

 private:
  static constexpr unsigned kLines = kCures.three_lines ? kLinesOfKey : 1;
  static constexpr unsigned kCandidates = kLines * Steps::kSlotsInLine;

  // An H that lies further back than this is raised before it is asked: a word can be read over
  // half of its range only, and a table's first H is the beginning of time.
  static constexpr Duration kNearby = std::chrono::hours(24 * 365);

  enum class Rank : std::uint8_t { empty, full_at_horizon, full_late, pending, none };

  // The share of the capacity that is owed, then the time until it is full again.
  using Weight = std::pair<std::uint64_t, Duration>;
  static constexpr Weight kHeaviest{~std::uint64_t{0}, Duration::max()};

  // The best place of one line, and how many of its places are free.
  struct Choice {
    Slot* slot = nullptr;
    Slot seen{};
    Rank rank = Rank::none;
    unsigned free = 0;
    Weight weight = kHeaviest;  // of who owes something: the lightest goes first
    std::uint64_t forgiven = 0;
    Slot* claimed = nullptr;
    bool key_is_here = false;
  };

  static Slot& candidate(const Candidates& key, unsigned i) {
    return key.lines[i / Steps::kSlotsInLine][i % Steps::kSlotsInLine];
  }

  static bool is_of(const Candidates& key, const Slot& seen, const Slot* slot) {
    if (fingerprint_of(seen.id) != key.fingerprint) return false;
    unsigned i = 0;
    while (i < kCandidates && &candidate(key, i) != slot) ++i;
    return i < kCandidates;
  }

  static Slot read(Slot& slot, std::uint64_t id) {
    return kCures.wide_reads ? Steps::load(slot) : Slot{id, Steps::load(slot.word)};
  }

  Choice choice_in(const Candidates& key, const Candidates* other, unsigned number, Instant now,
                   Instant horizon, std::span<Slot* const> taken) const {
    Slot* const line = key.lines[number];
    Choice best;
    for (unsigned i = 0; i < Steps::kSlotsInLine; ++i) {
      if (std::find(taken.begin(), taken.end(), &line[i]) != taken.end()) continue;
      const Slot seen = read(line[i], Steps::load(line[i].id));
      if (kind_of(seen.id) == Kind::claimed) best.claimed = &line[i];
      const bool stands = kind_of(seen.id) != Kind::empty && kind_of(seen.id) != Kind::pending;
      if (stands && (fingerprint_of(seen.id) == key.fingerprint ||
                     (kCures.both_keys && other != nullptr && is_of(*other, seen, &line[i])))) {
        best.key_is_here = true;  // it must never be its own victim
        return best;
      }
      const Rank rank = rank_of(seen, now, horizon);
      if (rank != Rank::none) {
        ++best.free;
        if (rank < best.rank) {
          best.slot = &line[i];
          best.seen = seen;
          best.rank = rank;
        }
      } else if (best.rank == Rank::none && kind_of(seen.id) == Kind::live) {
        consider(best, line[i], seen, now);
      }
    }
    return best;
  }

  // A state as the parameters in force read it: nobody gives way by what was true before a reload.
  static Word in_force(ShapeView& shape, const Slot& seen, Instant now) {
    const ShapeView written = shape;
    shape = shape.newest();
    return read_as(Word{seen.word}, written, shape, now);
  }

  Rank rank_of(const Slot& seen, Instant now, Instant horizon) const {
    switch (kind_of(seen.id)) {
      case Kind::empty:
        return Rank::empty;
      case Kind::pending:
        return Rank::pending;
      case Kind::claimed:
        return Rank::none;
      case Kind::live:
        break;
    }
    ShapeView shape(memory_.shapes, shape_of(seen.id));
    if (shape_of(seen.id) >= memory_.size.shapes || !shape.is_ready()) return Rank::empty;
    const Word word = in_force(shape, seen, now);
    return with_algorithm(shape.algorithm(), [&](auto algorithm) {
      if (kCures.horizon && horizon > now + -kNearby &&
          algorithm.is_full(word, shape.scale(), horizon)) {
        return Rank::full_at_horizon;
      }
      return algorithm.is_full(word, shape.scale(), now) ? Rank::full_late : Rank::none;
    });
  }

  // Of those who owe something, who goes: the least share of its capacity, never who is limited.
  void consider(Choice& best, Slot& slot, const Slot& seen, Instant now) const {
    ShapeView shape(memory_.shapes, shape_of(seen.id));
    const Word word = in_force(shape, seen, now);
    with_algorithm(shape.algorithm(), [&](auto algorithm) {
      const detail::Scale& scale = shape.scale();
      if (kCures.spare_limited && algorithm.is_limited(word, scale, now, shape.largest_cost())) {
        return;
      }
      const Weight weight{kCures.by_share ? algorithm.pressure(word, scale, now) : 0,
                          algorithm.time_to_full(word, scale, now)};
      if (weight >= best.weight) return;
      best.slot = &slot;
      best.seen = seen;
      best.weight = weight;
      best.forgiven = algorithm.owed(word, scale, now);
    });
  }

  static Instant from_unsigned(std::uint64_t ns) {
    return Instant(Duration(static_cast<std::int64_t>(ns ^ (std::uint64_t{1} << 63))));
  }

  Memory memory_;
};

}  // namespace suimon::table
