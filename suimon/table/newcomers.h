// BasicTable's new keys: how one gets a place, or does without. Included by basic_table.h, at its
// end.
#pragma once

namespace suimon::table {

// A new key: finds a place, marks it, looks whether the key is alone, and makes it live.
template <class Steps, Cures kCures>
typename BasicTable<Steps, kCures>::Arrival BasicTable<Steps, kCures>::arrive(
    const Candidates& key, const typename Places<Steps, kCures>::Found& found, const Charge& charge,
    Decision& out, Instant now, const Where* where) {
  const ShapeView shape = ShapeView(memory_.shapes, charge.shape).newest();
  const Candidates* const other = where == nullptr ? nullptr : &where->other;
  const Instant before = places_.horizon();
  const Step<Word> look = first_step(shape, charge, now, before);
  if (!look.writes) {
    out = look.decision;
    if (charge.op != Op::peek || !look.decision.allowed()) return Arrival::decided;
    // A look says what a take would hear, also where nobody gives way.
    return places_.victim_for(key, other, now, {}).is_none() ? Arrival::nowhere : Arrival::decided;
  }
  Slot* place = found.slot;
  Slot mark = found.seen;
  if (place == nullptr) {
    const Placing placing = find_place(key, other, shape, now, {}, place, mark);
    if (placing != Placing::marked) {
      return placing == Placing::full ? Arrival::nowhere : Arrival::again;
    }
  }
  if (!places_.verify(key, place, mark)) return Arrival::again;
  if (where != nullptr && !places_.verify_other(where->other, where->is_newer, place, mark)) {
    return Arrival::again;
  }
  const Instant after = kCures.horizon_after_verify ? places_.horizon() : before;
  const Step<Word> first = first_step(shape, charge, now, after);
  out = first.decision;
  if (!first.writes) {
    places_.drop(*place, mark);
    return Arrival::decided;
  }
  const Slot fresh{id_of(key.fingerprint, shape.number(), Kind::live), first.after.bits};
  return Steps::cas(*place, mark, fresh) ? Arrival::decided : Arrival::again;
}

// Marks a place for an absent key, which may stand at `other` under its other name. `taken` are
// places that must stay as they are.
template <class Steps, Cures kCures>
typename BasicTable<Steps, kCures>::Placing BasicTable<Steps, kCures>::find_place(
    const Candidates& key, const Candidates* other, const ShapeView& shape, Instant now,
    std::span<Slot* const> taken, Slot*& place, Slot& mark) {
  const auto victim = places_.victim_for(key, other, now, taken);
  if (victim.is_none()) return Placing::full;
  if (victim.key_is_here) return Placing::again;
  if (victim.slot == nullptr) {
    // A claimed place is nobody's victim, but a claim whose owner died must not hold it for ever.
    const Slot seen = Steps::load(*victim.claimed);
    if (kind_of(seen.id) == Kind::claimed) claims_.settle(*victim.claimed, seen);
    return Placing::again;
  }
  const auto marked = places_.mark(key, victim, shape.number(), now);
  if (!marked) return Placing::again;
  place = victim.slot;
  mark = *marked;
  return Placing::marked;
}

// A newcomer for whom there is no place.
template <class Steps, Cures kCures>
bool BasicTable<Steps, kCures>::take_elsewhere(const Charge& charge, Decision& out, Instant now) {
  Steps::count(memory_.shards, &Shard::overflows, 1);
  if (when_full_ == WhenFull::share) return take_at(own_of(charge).overflow, charge, out, now);
  return take_of_nothing(charge, out, now);
}

// The same where nothing is shared.
template <class Steps, Cures kCures>
bool BasicTable<Steps, kCures>::take_of_nothing(const Charge& charge, Decision& out,
                                                Instant now) const {
  const ShapeView shape = newest(charge.shape);
  const Word word = stand_in<Word>(when_full_, shape.algorithm(), shape.scale(), now);
  out = decide(shape, word, unkept(charge), now).decision;
  return out.allowed();
}

}  // namespace suimon::table
