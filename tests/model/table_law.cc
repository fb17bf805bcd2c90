#include "tests/model/table_law.h"

#include <algorithm>
#include <cassert>

#include "suimon/core/algorithms/token_bucket_word.h"
#include "suimon/detail/token_word.h"

namespace suimon::model {

using table::Kind;
using table::Slot;

TableLaw::TableLaw(const Scenario& scenario, World& world, Behaviour& behaviour, bool structure)
    : scenario_(scenario),
      world_(world),
      behaviour_(behaviour),
      structure_(structure),
      readings_{scenario.horizon} {
  for (const Resident& resident : scenario.residents) {
    add(keyed(resident.key, resident.shape));
  }
  for (const Actor& actor : scenario.actors) {
    auto& calls = of_calls_.emplace_back();
    for (const Call& call : actor.calls) {
      readings_.push_back(call.now);
      auto& charges = calls.emplace_back();
      for (const Charge& charge : call.charges) {
        table::OwnPlaces& own = world.memory().own[charge.shape];
        const Place keyless{
            .own = world.cells().of(&own.keyless), .is_own = true, .shape = charge.shape};
        const Place overflow{
            .own = world.cells().of(&own.overflow), .is_own = true, .shape = charge.shape};
        const Place place = charge.keyless ? keyless : keyed(charge.key, charge.shape);
        charges.push_back({add(place), add(overflow)});
      }
    }
  }
  static_assert(kMostThreads + 2 * kMostPlaces <= kMostNotes);
  assert(places_.size() <= kMostPlaces);
}

// A client with two keys is one place.
TableLaw::Place TableLaw::keyed(const Key& key, ShapeNumber shape) const {
  Place place{.fingerprint = table::fingerprint_of(key), .shape = shape};
  for (const auto& [older, newer] : scenario_.one_client) {
    if (!(key == older) && !(key == newer)) continue;
    place.fingerprint = table::fingerprint_of(older);
    place.newer = table::fingerprint_of(newer);
  }
  return place;
}

std::size_t TableLaw::add(const Place& place) {
  const auto known = std::find_if(places_.begin(), places_.end(),
                                  [&](const Place& other) { return other.is(place); });
  const auto number = static_cast<std::size_t>(known - places_.begin());
  if (known == places_.end()) places_.push_back(place);
  return number;
}

const char* TableLaw::after(const State& before, State& now, unsigned thread, bool wrote) {
  if ((now.note(thread) & kStarted) == 0) {
    now.set_note(thread, now.note(thread) | kStarted | right_answer(before, thread));
  }
  if (wrote) {
    if (horizon(now) < horizon(before)) return "H fell";
    if (const char* wrong = structure_ ? compare(before, now, thread) : nullptr) return wrong;
    note_answers(now);
  }
  const bool done =
      behaviour_.local(now.node(thread)).calls != behaviour_.local(before.node(thread)).calls;
  return done ? answered(now, thread) : nullptr;
}

bool TableLaw::watches(unsigned cell) const {
  const auto* const word = static_cast<const std::uint64_t*>(world_.cells().address(cell));
  const table::Memory& memory = world_.memory();
  for (unsigned i = 0; i < memory.size.descriptors; ++i) {
    if (word == &memory.descriptors[i].status) return true;
  }
  const bool is_of_descriptors =
      !std::less<>()(word, &memory.descriptors->status) && std::less<>()(word, &memory.lines->id);
  return !is_of_descriptors;
}

// What each call could be answered by what stands there now.
void TableLaw::note_answers(State& state) const {
  for (unsigned i = 0; i < scenario_.actors.size(); ++i) {
    const std::uint64_t note = state.note(i);
    if ((note & kStarted) == 0 || state.node(i) == kKilled) continue;
    state.set_note(i, note | right_answer(state, i));
  }
}

// Of a take, only a refusal needs this: an admission is seen as a change.
std::uint64_t TableLaw::right_answer(const State& state, unsigned thread) const {
  if ((state.note(thread) & kRefusable) == 0 && lacks(state, thread)) return kRefusable;
  const std::uint64_t number = behaviour_.local(state.node(thread)).calls;
  const std::vector<Call>& calls = scenario_.actors[thread].calls;
  const bool looks = number < calls.size() && calls[number].charges[0].op == Op::peek;
  return looks && !lacks(state, thread) ? kAdmissible : 0;
}

// A call has been answered: as it was charged, and refused only if tokens were lacking meanwhile.
const char* TableLaw::answered(State& now, unsigned thread) {
  const Local& local = behaviour_.local(now.node(thread));
  const std::uint64_t note = now.note(thread);
  const bool looked = scenario_.actors[thread].calls[local.calls - 1].charges[0].op == Op::peek;
  now.set_note(thread, note & ~(kStarted | kCharged | kRefusable | kAdmissible));
  const bool taken = (local.told[local.calls - 1][0].outcome & 1) != 0;
  if (looked) {
    return (note & (taken ? kAdmissible : kRefusable)) != 0 ? nullptr : "a look saw what never was";
  }
  if (structure_ && taken && (note & kCharged) == 0) return "allowed, and nothing was charged";
  if (structure_ && !taken && (note & kCharged) != 0) return "refused, and yet it was charged";
  if (!taken && (note & kRefusable) == 0) {
    return "refused, though the tokens were there all the time";
  }
  return nullptr;
}

Instant TableLaw::horizon(const State& state) const {
  const std::uint64_t ns = word(state, &world_.memory().header->horizon);
  return Instant(Duration(static_cast<std::int64_t>(ns ^ (std::uint64_t{1} << 63))));
}

// Whether the tokens for one charge of a thread's call are not there now, as its clock reads them.
bool TableLaw::lacks(const State& state, unsigned thread) const {
  const std::uint64_t number = behaviour_.local(state.node(thread)).calls;
  if (number == scenario_.actors[thread].calls.size()) return false;
  const Call& call = scenario_.actors[thread].calls[number];
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    // Who once found no place is charged to the overflow bucket, even if a place becomes free.
    const Places& places = of_calls_[thread][number][i];
    for (const std::size_t place : {places.place, places.overflow}) {
      const Slot is = standing(state, places_[place]).state;
      if (is.id == 0) continue;
      const Charge& charge = call.charges[i];
      const bool same = table::shape_of(is.id) == charge.shape;
      const Instant when = same ? call.now : std::max(call.now, horizon(state));
      const std::uint64_t word = read_as(is, charge.shape, when);
      if (!detail::take(scale(charge.shape), word, when, charge.amount).fits) return true;
    }
  }
  return false;
}

TableLaw::Standing TableLaw::standing(const State& state, const Place& place) const {
  Standing standing;
  const auto look = [&](const Slot& slot) {
    const Kind kind = table::kind_of(slot.id);
    if (kind != Kind::live && kind != Kind::claimed) return;
    Slot is = state_in(state, slot, standing.orphaned);
    // While a state goes over, both slots are claimed and one of them holds it.
    standing.copies += place.newer == 0 || is.id != 0 ? 1 : 0;
    if (place.newer != 0 && is.id != 0) {
      is.id = table::id_of(place.fingerprint, table::shape_of(is.id), table::kind_of(is.id));
    }
    // Of two copies the one that owes more: what a caller may be refused by.
    if (is.word > standing.state.word) standing.state = is;
  };
  const Cells& cells = world_.cells();
  if (place.is_own) {
    look({cells.get(state, place.own), cells.get(state, place.own + 1)});
    return standing;
  }
  for (unsigned i = 0; i < table::kLinesOfKey; ++i) {
    const unsigned cell = world_.cells().of(&world_.slot(i));
    const Slot slot{cells.get(state, cell), cells.get(state, cell + 1)};
    const std::uint64_t fingerprint = table::fingerprint_of(slot.id);
    const bool is_his =
        fingerprint == place.fingerprint || (place.newer != 0 && fingerprint == place.newer);
    if (is_his) look(slot);
  }
  return standing;
}

// What a slot's state is: its word, or what its decision says.
Slot TableLaw::state_in(const State& state, const Slot& slot, bool& orphaned) const {
  if (table::kind_of(slot.id) == Kind::live) return slot;
  const table::Ref ref = table::ref_of(slot.word);
  if (ref.descriptor >= world_.memory().size.descriptors) {
    orphaned = true;
    return {};
  }
  const table::Descriptor& descriptor = world_.memory().descriptors[ref.descriptor];
  const std::uint64_t status = word(state, &descriptor.status);
  orphaned =
      orphaned || table::seq_of(status) != ref.seq || table::state_of(status) == table::State::idle;
  const table::Entry& entry = descriptor.entries[ref.entry];
  const Slot& is = table::state_of(status) == table::State::committed ? entry.fresh : entry.old;
  return {word(state, &is.id), word(state, &is.word)};
}

const char* TableLaw::compare(const State& before, State& now, unsigned thread) {
  const std::uint64_t number = behaviour_.local(before.node(thread)).calls;
  const Call& call = scenario_.actors[thread].calls[number];
  std::size_t changed = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Standing was = standing(before, places_[i]);
    const Standing is = standing(now, places_[i]);
    if (is.copies > 1) return "one key has two states";
    if (is.orphaned) return "a claim belongs to no decision";
    if (was.state == is.state) continue;
    const char* wrong = nullptr;
    const auto& charges = of_calls_[thread][number];
    if (is.state.id == 0) {
      // Of a pair, one may go for the other like anybody.
      const bool own = charges.size() == 1 && charges[0].place == i;
      wrong = gone(now, i, was.state, call.now, own);
    } else {
      bool asked = false;
      for (std::size_t c = 0; c < charges.size() && !asked; ++c) {
        asked = charges[c].place == i || charges[c].overflow == i;
        if (!asked) continue;
        wrong = charged_rightly(now, i, was.state, is.state, call.now, call.charges[c]);
        if (charges[c].overflow == i) {
          now.set_note(thread, now.note(thread) | overflowed(number, c));
        }
      }
      if (!asked) return "a state changed that the call did not name";
      ++changed;
    }
    if (wrong != nullptr) return wrong;
  }
  if (changed == 0) return nullptr;
  if (changed != call.charges.size()) return "a part of a decision was charged without the rest";
  if ((now.note(thread) & kCharged) != 0) return "a decision was charged twice";
  now.set_note(thread, now.note(thread) | kCharged);
  return nullptr;
}

// A state has been taken away. How far it reached is noted: nobody new may start before that.
const char* TableLaw::gone(State& now, std::size_t place, const Slot& was, Instant clock,
                           bool own) const {
  const unsigned note = note_of(place);
  if (was.word <= detail::unsigned_ns(horizon(now))) {
    now.set_note(note, std::max(now.note(note), was.word));
    return nullptr;
  }
  if (was.word <= detail::unsigned_ns(clock)) return "a state gave way before H was raised";
  const table::ShapeRecord& shape = world_.memory().shapes[table::shape_of(was.id)];
  if (!detail::take(shape.scale, was.word, clock, shape.largest_cost).fits)
    return "a limited client was taken away";
  if (own) return "somebody took his own state away";
  now.set_note(note, kPardoned);
  return nullptr;
}

// `is` must be `was` with the charge, decided at the caller's clock or, for somebody new, at H.
const char* TableLaw::charged_rightly(State& now, std::size_t place, const Slot& was,
                                      const Slot& is, Instant clock, const Charge& charge) const {
  const detail::Scale& scale = this->scale(charge.shape);
  if (table::shape_of(is.id) != charge.shape) return "a state was left in another tier";
  if (was.id != 0 && table::shape_of(was.id) != charge.shape)
    return new_tier(now, place, was, is, clock, charge);
  if (was.id != 0) {
    const detail::Taken taken = detail::take(scale, was.word, clock, charge.amount);
    if (!taken.fits) return "tokens were taken that were not there";
    return taken.word == is.word ? nullptr : "a state changed by something else than the charge";
  }
  const std::uint64_t from = is.word - charge.amount * scale.token;
  const bool at_clock = from == detail::unsigned_ns(clock);
  const bool at_horizon =
      from > detail::unsigned_ns(clock) && from <= detail::unsigned_ns(horizon(now));
  if (!at_clock && !at_horizon) {
    return "somebody new was decided at an instant that nobody has read";
  }
  const std::uint64_t full_at = now.note(note_of(place));
  if (full_at != kPardoned && from < full_at) {
    return "somebody came back full before the instant at which he had been full";
  }
  return nullptr;
}

// A change of tier is read as of the caller's clock or H, never before the one before it: what has
// flowed in at one rate must not flow in once more at another.
const char* TableLaw::new_tier(State& now, std::size_t place, const Slot& was, const Slot& is,
                               Instant clock, const Charge& charge) const {
  for (const Instant when : readings_) {
    if (when < clock || when > std::max(clock, horizon(now))) continue;
    if (detail::unsigned_ns(when) < now.note(tier_note_of(place))) continue;
    const std::uint64_t word = read_as(was, charge.shape, when);
    const detail::Taken taken = detail::take(scale(charge.shape), word, when, charge.amount);
    if (!taken.fits || taken.word != is.word) continue;
    now.set_note(tier_note_of(place), detail::unsigned_ns(when));
    return nullptr;
  }
  return "a change of tier was read as of an instant before the one before it";
}

std::uint64_t TableLaw::read_as(const Slot& slot, ShapeNumber shape, Instant when) const {
  const ShapeNumber from = table::shape_of(slot.id);
  if (from == shape) return slot.word;
  return algorithms::TokenBucketWord::convert({slot.word}, scale(from), scale(shape), when).bits;
}

}  // namespace suimon::model
