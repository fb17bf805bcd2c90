// The keyed table: every client of every limit in one bounded region, without a lock.
//
// This is the template; suimon/table/table.h is the table that programs use. Its parts: places.h
// (where a key lies), claims.h (several slots as one), layout.h (the region); and, of its members,
// newcomers.h, two_keys.h, group_take.h and conversion.h.
//
//   - A decision over one state is one CAS. A refusal writes nothing.
//   - A decision over several states changes all or none of them. Nobody is refused for tokens
//     that a decision held for a moment and did not spend.
//   - Memory is fixed. A state that is full again equals an absent one and gives way. When no place
//     of a new key is free, who owes the smallest share of its capacity goes, never who is
//     limited. When all are limited, the newcomer is charged to its limit's one overflow bucket (or
//     what else WhenFull says).
//   - A thread that is stopped at any step holds up nobody.
#pragma once

#include <array>
#include <cassert>
#include <memory>
#include <span>

#include "suimon/base/inline_vector.h"
#include "suimon/core/joint.h"
#include "suimon/core/when_full.h"
#include "suimon/table/claims.h"
#include "suimon/table/cures.h"
#include "suimon/table/places.h"

namespace suimon::table {

template <class Steps, Cures kCures = Cures{}>
class BasicTable {
 public:
  explicit BasicTable(const Memory& memory, WhenFull when_full = WhenFull::share)
      : memory_(memory), places_(memory), claims_(memory), when_full_(when_full) {}

  // Where a key's state nearly always is: `low` is key.low. Begins to fetch it, so that what is
  // done next hides the time that takes.
  [[gnu::always_inline]] Front prepare(std::uint64_t low) const {
    Front front(memory_, Steps::kSlotsInLine, low);
    Steps::prefetch_to_write(front.first);
    if (kCures.three_lines) Steps::prefetch(front.second);
    Steps::keep(front.first);
    Steps::keep(front.second);
    return front;
  }
  // The same for one of many keys: there is time to fetch both lines to be written.
  Front prepare_many(std::uint64_t low) const {
    const Front front(memory_, Steps::kSlotsInLine, low);
    Steps::prefetch_to_write(front.first);
    if (kCures.three_lines) Steps::prefetch_to_write(front.second);
    return front;
  }

  // Decides the charges of one request as of `now`, all or none. True when all were admitted.
  // Requires as many decisions as charges, at most kMostCharges, and shapes that are in the
  // registry.
  bool take(std::span<const Charge> charges, std::span<Decision> decisions, Instant now) {
    assert(charges.size() <= kMostCharges && charges.size() == decisions.size());
    if (charges.size() != 1) {
      return take_all_quickly(charges, decisions, now) || take_all(charges, decisions, now);
    }
    const Charge& charge = charges[0];
    if (charge.op == Op::take && !charge.keyless) {
      const Front front(memory_, Steps::kSlotsInLine, charge.key.low);
      const ShapeView shape = newest(charge.shape);
      detail::Taken taken;
      const Quick quick =
          take_quickly(front, fingerprint_of(charge.key), shape, charge.amount, now, taken);
      if (quick != Quick::undone) {
        std::construct_at(&decisions[0], decision_of(quick, taken, shape, charge.amount, now));
        return quick == Quick::granted;
      }
    }
    return take_one(charge, decisions[0], now);
  }

  [[gnu::always_inline]] ShapeView newest(ShapeNumber shape) const {
    return ShapeView(memory_.shapes, shape).newest();
  }

  // The commonest decision, in the fewest instructions: takes `amount` tokens from a state that is
  // there, in the newest shape. Undone: nothing has happened, and take_one() decides.
  enum class Quick : std::uint8_t { undone, granted, refused };
  [[gnu::always_inline]] Quick take_quickly(const Front& front, std::uint64_t fingerprint,
                                            const ShapeView& shape, std::uint64_t amount,
                                            Instant now, detail::Taken& taken) {
    // Where threads meet, the line may have been taken away since it was prepared: it is fetched to
    // be written at once, not to be read and then once more.
    Steps::prefetch_to_write(front.first);
    const std::uint64_t id = id_of(fingerprint, shape.number(), Kind::live);
    Slot* const slot = find_live(front, id);
    if (slot == nullptr || amount > shape.scale().capacity) [[unlikely]]
      return Quick::undone;
    // Read apart, identity and state may be of two keys. The CAS succeeds only if they were not.
    const Slot seen{id, Steps::load(slot->word)};
    taken = take(shape, seen, amount, now);
    if (taken.fits && taken.word != seen.word) [[likely]] {
      if (Steps::cas(*slot, seen, {id, taken.word})) [[likely]]
        return Quick::granted;
    }
    return take_again(*slot, id, shape, amount, now, taken);
  }
  static Decision decision_of(Quick quick, const detail::Taken& taken, const ShapeView& shape,
                              std::uint64_t amount, Instant now) {
    const bool granted = quick == Quick::granted;
    return {granted ? Outcome::allowed : Outcome::limited,
            shape.scale(),
            now,
            taken.debt,
            amount,
            granted ? amount : 0};
  }

  // A single charge, whatever it asks and wherever its state is.
  [[gnu::noinline]] bool take_one(const Charge& charge, Decision& out, Instant now) {
    if (kCures.own_places && charge.keyless) {
      return take_at(own_of(charge).keyless, charge, out, now);
    }
    if (charge.rekey != Rekey::none) return take_by_two_keys(charge, out, now);
    const Candidates key = places_.candidates(charge.key);
    for (;;) {
      const auto found = places_.find(key);
      if (found.slot == nullptr || kind_of(found.seen.id) == Kind::pending) {
        const Arrival arrival = arrive(key, found, charge, out, now);
        if (arrival == Arrival::decided) return out.allowed();
        if (arrival == Arrival::nowhere) return take_elsewhere(charge, out, now);
      } else if (step(*found.slot, found.seen, charge, out, now)) {
        return out.allowed();
      }
    }
  }

  void convert_replaced();  // Table::convert_replaced()

 private:
  [[gnu::always_inline]] static detail::Taken take(const ShapeView& shape, const Slot& live,
                                                   std::uint64_t amount, Instant now) {
    return with_algorithm(shape.algorithm(), [&](auto algorithm) {
      return algorithm.take(Word{live.word}, shape.scale(), now, amount);
    });
  }

  // The rest of take_quickly(): somebody else was faster, or nothing is to be written, which is
  // said only of a state that was read as one.
  [[gnu::noinline]] static Quick take_again(Slot& slot, std::uint64_t id, ShapeView shape,
                                            std::uint64_t amount, Instant now,
                                            detail::Taken& taken) {
    for (;;) {
      const Slot seen = kCures.wide_reads ? Steps::load(slot) : Slot{id, Steps::load(slot.word)};
      if (seen.id != id) return Quick::undone;
      taken = take(shape, seen, amount, now);
      if (!taken.fits) return Quick::refused;
      if (taken.word == seen.word || Steps::cas(slot, seen, {id, taken.word})) {
        return Quick::granted;
      }
    }
  }

  enum class Arrival : std::uint8_t { decided, again, nowhere };

  // One state of a group of charges.
  struct Spot {
    const Charge* charge = nullptr;  // the first one that names it
    Candidates key;
    Slot* own = nullptr;  // not among the lines: a keyless or an overflow place
    Slot* slot = nullptr;
    Slot seen{};
    bool absent = false;   // no state yet
    bool claimed = false;  // by another decision
    bool marked = false;   // `seen` is a mark of ours
    bool unkept = false;   // there is no place for it, and nothing is shared
    bool moves = false;    // it lies under an older key and is to go to the newer one,
    bool stays = false;    // where there is no place for it
    bool is_newer = false;
    bool other_tier = false;
  };
  struct Group {
    InlineVector<Account<Word, ShapeView>, kMostCharges> accounts;
    InlineVector<Spot, kMostCharges> spots;
    InlineVector<Charge, kMostCharges> unkept;
  };

  // Where a client with two keys stands: two_keys.h.
  struct Where {
    Candidates home;   // of the key under which the state lies, or is to be made
    Candidates other;  // of the other key
    bool is_newer = false;
    typename Places<Steps, kCures>::Found found{};   // under `home`
    typename Places<Steps, kCures>::Found vacant{};  // of the newer key, for a state that moves
    Slot live{};                                     // the state; empty: there is none
    bool moves = false;
  };
  struct Sight {
    typename Places<Steps, kCures>::Found found{};
    Slot live{};
  };

  // The slot in the two first lines whose id is exactly this; null: elsewhere, or nowhere.
  [[gnu::always_inline]] static Slot* find_live(const Front& front, std::uint64_t id) {
#pragma GCC unroll 4
    for (unsigned i = 0; i < Steps::kSlotsInLine; ++i) {
      if (Steps::load(front.first[i].id) == id) return &front.first[i];
    }
    if (!kCures.three_lines) return nullptr;
#pragma GCC unroll 4
    for (unsigned i = 0; i < Steps::kSlotsInLine; ++i) {
      if (Steps::load(front.second[i].id) == id) return &front.second[i];
    }
    return nullptr;
  }

  OwnPlaces& own_of(const Charge& charge) {
    return memory_.own[ShapeView(memory_.shapes, charge.shape).own()];
  }

  // What a live state is, as `shape` reads it. `shape` becomes newer if the state already is:
  // another thread has seen a change of parameters that this one had not.
  //
  // A change of tier is read as of `now`, but not before H, which is raised to that instant when
  // the result is kept: otherwise a clock that lags would count what flowed in since at one rate,
  // and let it flow in once more at the other.
  struct Reading {
    Word word;
    bool other_tier = false;
  };
  Reading read_in(ShapeView& shape, const Slot& live, Instant now) const {
    if (shape_of(live.id) == shape.number()) [[likely]]
      return {{live.word}};
    shape = shape.newest();
    if (shape_of(live.id) >= memory_.size.shapes) return {};
    const ShapeView from(memory_.shapes, shape_of(live.id));
    if (!from.is_ready()) return {};
    if (!kCures.change_at_its_instant) {
      return {with_algorithm(shape.algorithm(), [&](auto algorithm) {
        return algorithm.convert(Word{live.word}, from.scale(), shape.scale(), now);
      })};
    }
    const Instant when = std::max(now, places_.horizon());
    return {read_as(Word{live.word}, from, shape, when), !(from.newest() == shape)};
  }

  static Step<Word> decide(const ShapeView& shape, Word word, const Charge& charge, Instant now) {
    return with_algorithm(shape.algorithm(), [&](auto algorithm) {
      return algorithm.decide(word, shape.scale(), now, charge.amount, charge.op, charge.max_wait);
    });
  }

  // One step on a state that is there. False: it has changed meanwhile, look again.
  bool step(Slot& slot, const Slot& seen, const Charge& charge, Decision& out, Instant now) {
    ShapeView shape = ShapeView(memory_.shapes, charge.shape).newest();
    Slot live = seen;
    const bool claimed = kind_of(seen.id) == Kind::claimed;
    if (claimed) [[unlikely]] {
      const auto state = claims_.state_of_claimed(seen);
      if (!state) return recheck(slot, seen);
      live = *state;
      if (kind_of(live.id) == Kind::empty) now = std::max(now, places_.horizon());
    }
    const bool absent = kind_of(live.id) == Kind::empty;
    const Reading reading = absent ? Reading{} : read_in(shape, live, now);
    const Step<Word> step = decide(shape, reading.word, charge, now);
    out = step.decision;
    if (!step.writes) return true;
    if (reading.other_tier) places_.raise_horizon(now);
    if (claimed) [[unlikely]] {
      claims_.settle(slot, seen);
      return false;
    }
    return Steps::cas(
        slot, seen, {id_of(fingerprint_of(seen.id), shape.number(), Kind::live), step.after.bits});
  }

  // A claim that was over when its descriptor was read: the slot has changed, or memory is damaged.
  bool recheck(Slot& slot, const Slot& seen) {
    claims_.settle(slot, seen);
    return false;
  }

  // A step on a place that nobody else can take: empty means untouched.
  bool take_at(Slot& slot, const Charge& charge, Decision& out, Instant now) {
    for (;;) {
      if (step(slot, Steps::load(slot), charge, out, now)) return out.allowed();
    }
  }

  // What is not kept cannot be waited for either.
  static Charge unkept(const Charge& charge) {
    Charge at_once = charge;
    at_once.max_wait = Duration(0);
    return at_once;
  }

  // What a newcomer is decided by: a bucket that is full, at an instant that H does not lie behind.
  struct Start {
    Word word;
    Instant now;
  };
  static Start start(const ShapeView& shape, Instant now, Instant horizon) {
    if (!kCures.horizon) return {{}, now};
    if (kCures.late_newcomers) return {{}, std::max(now, horizon)};
    return with_algorithm(shape.algorithm(), [&](auto algorithm) {
      return Start{algorithm.full_at(shape.scale(), horizon), now};
    });
  }
  static Step<Word> first_step(const ShapeView& shape, const Charge& charge, Instant now,
                               Instant horizon) {
    const Start begin = start(shape, now, horizon);
    return decide(shape, begin.word, charge, begin.now);
  }

  enum class Placing : std::uint8_t { marked, again, full };

  // newcomers.h
  Arrival arrive(const Candidates& key, const typename Places<Steps, kCures>::Found& found,
                 const Charge& charge, Decision& out, Instant now, const Where* where = nullptr);
  bool take_elsewhere(const Charge& charge, Decision& out, Instant now);
  Placing find_place(const Candidates& key, const Candidates* other, const ShapeView& shape,
                     Instant now, std::span<Slot* const> taken, Slot*& place, Slot& mark);
  bool take_of_nothing(const Charge& charge, Decision& out, Instant now) const;

  // two_keys.h
  static bool is_claimed(const typename Places<Steps, kCures>::Found& found) {
    return found.slot != nullptr && kind_of(found.seen.id) == Kind::claimed;
  }
  bool locate(const Charge& charge, Where& where);
  bool see(const Candidates& key, Sight& sight);
  bool take_by_two_keys(const Charge& charge, Decision& out, Instant now);
  Placing go_over(const Where& where, Instant now, std::span<Slot* const> taken);
  bool bring_over(Group& group, Instant now);

  // conversion.h
  bool is_replaced(ShapeNumber number) const;
  void convert_replaced(Slot& slot);

  // group_take.h
  bool take_all_quickly(std::span<const Charge> charges, std::span<Decision> decisions,
                        Instant now);
  bool take_all(std::span<const Charge> charges, std::span<Decision> decisions, Instant now);
  void list(Group& group, std::span<const Charge> charges);
  bool open(Group& group, Instant now);
  bool look_at(Spot& spot, Slot& live);
  bool look_at_both(Spot& spot, Slot& live);
  bool writes(Group& group, std::size_t spot);
  bool settle_claims(Group& group);
  Placing place_newcomers(Group& group, Instant now);
  void send_elsewhere(Group& group, std::size_t spot);
  void drop_marks(Group& group);
  bool commit(Group& group, Instant now);

  Memory memory_;
  Places<Steps, kCures> places_;
  Claims<Steps> claims_;
  WhenFull when_full_;
};

}  // namespace suimon::table

// Members that are a matter of their own.
#include "suimon/table/conversion.h"
#include "suimon/table/group_take.h"
#include "suimon/table/newcomers.h"
#include "suimon/table/two_keys.h"
