#include "tests/model/table_law.h"

#include <algorithm>
#include <cassert>

#include "suimon/detail/token_word.h"

namespace suimon::model {

using table::Kind;
using table::Slot;

TableLaw::TableLaw(const Scenario& scenario, World& world, Behaviour& behaviour, bool structure)
    : scenario_(scenario), world_(world), behaviour_(behaviour), structure_(structure) {
  for (const Resident& resident : scenario.residents) {
    add({.fingerprint = table::fingerprint_of(resident.key), .shape = resident.shape});
  }
  for (const Actor& actor : scenario.actors) {
    auto& calls = of_calls_.emplace_back();
    for (const Call& call : actor.calls) {
      auto& charges = calls.emplace_back();
      for (const Charge& charge : call.charges) {
        table::OwnPlaces& own = world.memory().own[charge.shape];
        const Place keyless{
            .own = world.cells().of(&own.keyless), .is_own = true, .shape = charge.shape};
        const Place overflow{
            .own = world.cells().of(&own.overflow), .is_own = true, .shape = charge.shape};
        const Place keyed{.fingerprint = table::fingerprint_of(charge.key), .shape = charge.shape};
        charges.push_back({add(charge.keyless ? keyless : keyed), add(overflow)});
      }
    }
  }
  assert(kMostThreads + places_.size() <= kMostNotes);
}

std::size_t TableLaw::add(const Place& place) {
  const auto known = std::find(places_.begin(), places_.end(), place);
  if (known == places_.end()) places_.push_back(place);
  return static_cast<std::size_t>(std::find(places_.begin(), places_.end(), place) -
                                  places_.begin());
}

const char* TableLaw::after(const State& before, State& now, unsigned thread, bool wrote) {
  if ((now.note(thread) & started) == 0) {
    now.set_note(thread, now.note(thread) | started | (lacks(before, thread) ? refusable : 0));
  }
  if (wrote) {
    if (horizon(now) < horizon(before)) return "H fell";
    if (const char* wrong = structure_ ? compare(before, now, thread) : nullptr) return wrong;
    note_refusals(now);
  }
  const bool done =
      behaviour_.local(now.node(thread)).calls != behaviour_.local(before.node(thread)).calls;
  return done ? answered(now, thread) : nullptr;
}

const char* TableLaw::at_end(const State& state) {
  if (const char* wrong = windows(state)) return wrong;
  return structure_ ? leftovers(state) : nullptr;
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

// Who could be refused by what stands there now.
void TableLaw::note_refusals(State& state) const {
  for (unsigned i = 0; i < scenario_.actors.size(); ++i) {
    const std::uint64_t note = state.note(i);
    if ((note & started) == 0 || (note & refusable) != 0 || state.node(i) == kKilled) continue;
    if (lacks(state, i)) state.set_note(i, note | refusable);
  }
}

// A call has been answered: as it was charged, and refused only if tokens were lacking meanwhile.
const char* TableLaw::answered(State& now, unsigned thread) {
  const Local& local = behaviour_.local(now.node(thread));
  const std::uint64_t note = now.note(thread);
  now.set_note(thread, note & ~(started | charged | refusable));
  const bool taken = (local.told[local.calls - 1][0].outcome & 1) != 0;
  if (structure_ && taken && (note & charged) == 0) return "allowed, and nothing was charged";
  if (structure_ && !taken && (note & charged) != 0) return "refused, and yet it was charged";
  if (!taken && (note & refusable) == 0) {
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
      const detail::Scale& scale = scale_of(places_[place]);
      if (!detail::take(scale, is.word, call.now, call.charges[i].amount).fits) return true;
    }
  }
  return false;
}

TableLaw::Standing TableLaw::standing(const State& state, const Place& place) const {
  Standing standing;
  const auto look = [&](const Slot& slot) {
    const Kind kind = table::kind_of(slot.id);
    if (kind != Kind::live && kind != Kind::claimed) return;
    ++standing.copies;
    const Slot is = state_in(state, slot, standing.orphaned);
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
    if (table::fingerprint_of(slot.id) == place.fingerprint) look(slot);
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
    if (is.state.id == 0) {
      wrong = gone(now, i, was.state, call.now, now);
    } else {
      const auto& charges = of_calls_[thread][number];
      bool asked = false;
      for (std::size_t c = 0; c < charges.size() && !asked; ++c) {
        asked = charges[c].place == i || charges[c].overflow == i;
        if (!asked) continue;
        wrong = charged_rightly(now, i, was.state, is.state, {call.now, {call.charges[c]}});
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
  if ((now.note(thread) & charged) != 0) return "a decision was charged twice";
  now.set_note(thread, now.note(thread) | charged);
  return nullptr;
}

// A state has been taken away. How far it reached is noted: nobody new may start before that.
const char* TableLaw::gone(const State& now, std::size_t place, const Slot& was, Instant clock,
                           State& notes) const {
  const unsigned note = note_of(place);
  const detail::Scale& scale = scale_of(places_[place]);
  if (was.word <= detail::unsigned_ns(horizon(now))) {
    notes.set_note(note, std::max(notes.note(note), was.word));
    return nullptr;
  }
  if (was.word <= detail::unsigned_ns(clock)) return "a state gave way before H was raised";
  const std::uint64_t cost = world_.memory().shapes[places_[place].shape].largest_cost;
  if (!detail::take(scale, was.word, clock, cost).fits) return "a limited client was taken away";
  notes.set_note(note, kPardoned);
  return nullptr;
}

// `is` must be `was` with the charge, decided at the caller's clock or, for somebody new, at H.
const char* TableLaw::charged_rightly(const State& now, std::size_t place, const Slot& was,
                                      const Slot& is, const Call& call) const {
  const detail::Scale& scale = scale_of(places_[place]);
  const std::uint64_t amount = call.charges[0].amount;
  if (was.id != 0) {
    const detail::Taken taken = detail::take(scale, was.word, call.now, amount);
    if (!taken.fits) return "tokens were taken that were not there";
    return taken.word == is.word ? nullptr : "a state changed by something else than the charge";
  }
  const std::uint64_t from = is.word - amount * scale.token;
  const bool at_clock = from == detail::unsigned_ns(call.now);
  const bool at_horizon =
      from > detail::unsigned_ns(call.now) && from <= detail::unsigned_ns(horizon(now));
  if (!at_clock && !at_horizon)
    return "somebody new was decided at an instant that nobody has read";
  const std::uint64_t full_at = now.note(note_of(place));
  if (full_at != kPardoned && from < full_at) {
    return "somebody came back full before the instant at which he had been full";
  }
  return nullptr;
}

// In every window of length t at most C + floor(R*t) were admitted.
const char* TableLaw::windows(const State& state) const {
  struct Admitted {
    std::size_t place;
    Instant at;
    std::uint64_t amount;
  };
  std::vector<Admitted> admitted;
  for (unsigned i = 0; i < scenario_.actors.size(); ++i) {
    const std::vector<Call>& calls = scenario_.actors[i].calls;
    const bool killed = state.node(i) == kKilled;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      for (std::size_t j = 0; j < calls[c].charges.size(); ++j) {
        const bool over = (state.note(i) & overflowed(c, j)) != 0;
        const std::size_t place = over ? of_calls_[i][c][j].overflow : of_calls_[i][c][j].place;
        if (state.note(note_of(place)) == kPardoned) continue;
        const std::uint64_t amount = calls[c].charges[j].amount;
        if (killed) {
          // Requires that who may be killed makes one call.
          if ((state.note(i) & charged) != 0) admitted.push_back({place, calls[c].now, amount});
        } else if (const auto& told = behaviour_.local(state.node(i)).told[c];
                   (told[0].outcome & 1) != 0) {
          admitted.push_back({place, Instant(Duration(told[j].at)), amount});
        }
      }
    }
  }
  for (const Admitted& first : admitted) {
    for (const Admitted& end : admitted) {
      if (end.place != first.place || end.at < first.at) continue;
      std::uint64_t sum = 0;
      for (const Admitted& one : admitted) {
        if (one.place == first.place && first.at <= one.at && one.at <= end.at) sum += one.amount;
      }
      const detail::Scale& scale = scale_of(places_[first.place]);
      const auto length = static_cast<std::uint64_t>((end.at - first.at).count());
      if (sum > scale.capacity + length / scale.token)
        return "more was admitted than C + floor(R*t)";
    }
  }
  return nullptr;
}

// What is left when all have ended: nothing that is under way, unless somebody was killed.
const char* TableLaw::leftovers(const State& state) const {
  for (unsigned i = 0; i < scenario_.actors.size(); ++i) {
    if (state.node(i) == kKilled) return nullptr;
  }
  for (unsigned i = 0; i < table::kLinesOfKey; ++i) {
    const std::uint64_t id = word(state, &world_.slot(i).id);
    if (table::kind_of(id) == Kind::claimed) return "a claim was left";
  }
  for (unsigned i = 0; i < world_.memory().size.descriptors; ++i) {
    const std::uint64_t status = word(state, &world_.memory().descriptors[i].status);
    if (table::state_of(status) != table::State::idle) return "a decision was left open";
  }
  return nullptr;
}

}  // namespace suimon::model
