// BasicTable's charges with two keys, while one secret replaces another: the client's state lies
// under one of them. Included by basic_table.h, at its end.
//
// Both keys are looked at, the newer one first, because states go only from the older to the newer:
// who finds neither looks at the newer one again. A new key is made only when, after its mark was
// placed, neither key stands anywhere else; so the client has one state, whoever brings him by
// which key. Going over is one change of two slots.
#pragma once

namespace suimon::table {

// Where a client with two keys stands. False: something was on the way, look again.
template <class Steps, Cures kCures>
bool BasicTable<Steps, kCures>::locate(const Charge& charge, Where& where) {
  const bool moves = charge.rekey == Rekey::move;
  const Candidates newer = places_.candidates(moves ? charge.key : charge.other);
  const Candidates older = places_.candidates(moves ? charge.other : charge.key);
  Sight at_newer;
  Sight at_older;
  if (!see(newer, at_newer)) return false;
  const auto is_at = [&](const Candidates& home, const Candidates& other, const Sight& sight,
                         bool is_newer) {
    where.home = home;
    where.other = other;
    where.is_newer = is_newer;
    where.found = sight.found;
    where.live = sight.live;
    where.moves = moves && !is_newer && kind_of(sight.live.id) == Kind::live;
    where.vacant = at_newer.found;
    return true;
  };
  if (kind_of(at_newer.live.id) == Kind::live) return is_at(newer, older, at_newer, true);
  if (!see(older, at_older)) return false;
  if (kind_of(at_older.live.id) == Kind::live) return is_at(older, newer, at_older, false);
  if (!see(newer, at_newer)) return false;  // it may have gone over in between
  if (kind_of(at_newer.live.id) == Kind::live) return is_at(newer, older, at_newer, true);
  // Nowhere. A claim by which it is being made goes first, then a mark that somebody has placed.
  if (is_claimed(at_newer.found)) return is_at(newer, older, at_newer, true);
  if (is_claimed(at_older.found)) return is_at(older, newer, at_older, false);
  if (moves || at_newer.found.slot != nullptr) return is_at(newer, older, at_newer, true);
  return is_at(older, newer, at_older, false);
}

// What stands under one key: `live` is empty when there is no state, whatever else there is.
template <class Steps, Cures kCures>
bool BasicTable<Steps, kCures>::see(const Candidates& key, Sight& sight) {
  sight.found = places_.find(key);
  sight.live = {};
  if (sight.found.slot == nullptr) return true;
  const Slot& seen = sight.found.seen;
  if (kind_of(seen.id) == Kind::live) sight.live = seen;
  if (kind_of(seen.id) != Kind::claimed) return true;
  const auto state = claims_.state_of_claimed(seen);
  if (!state) return recheck(*sight.found.slot, seen);
  sight.live = *state;
  return true;
}

// A single charge of a client with two keys.
template <class Steps, Cures kCures>
bool BasicTable<Steps, kCures>::take_by_two_keys(const Charge& charge, Decision& out, Instant now) {
  bool stays = false;
  Where where;
  for (;;) {
    if (!locate(charge, where)) continue;
    if (kind_of(where.live.id) != Kind::live && !is_claimed(where.found)) {
      const Arrival arrival = arrive(where.home, where.found, charge, out, now, &where);
      if (arrival == Arrival::decided) return out.allowed();
      if (arrival == Arrival::nowhere) return take_elsewhere(charge, out, now);
      continue;
    }
    if (where.moves && !stays) {
      ShapeView shape = newest(charge.shape);
      const Step<Word> look = decide(shape, read_in(shape, where.live, now).word, charge, now);
      out = look.decision;
      if (!look.writes) return out.allowed();  // a refusal moves nothing
      stays = go_over(where, now, {}) == Placing::full;
      if (!stays) continue;
    }
    if (step(*where.found.slot, where.found.seen, charge, out, now)) return out.allowed();
  }
}

// Brings a state from its older key to the newer one, as it is. Full: whoever lives in the newer
// one's places is limited; then it stays where it is.
template <class Steps, Cures kCures>
typename BasicTable<Steps, kCures>::Placing BasicTable<Steps, kCures>::go_over(
    const Where& where, Instant now, std::span<Slot* const> taken) {
  Slot* const from = where.found.slot;
  for (const auto& [slot, seen] : {where.found, where.vacant}) {
    if (slot == nullptr || kind_of(seen.id) != Kind::claimed) continue;
    claims_.settle(*slot, seen);
    return Placing::again;
  }
  const ShapeView shape(memory_.shapes, shape_of(where.live.id));
  Slot* place = where.vacant.slot;
  Slot mark = where.vacant.seen;
  if (place == nullptr) {
    InlineVector<Slot*, kMostCharges + 1> kept;
    for (Slot* const slot : taken) kept.emplace_back(slot);
    kept.emplace_back(from);
    const Placing placing = find_place(where.other, nullptr, shape, now, kept.all(), place, mark);
    if (placing != Placing::marked) return placing;
  }
  if (!places_.verify(where.other, place, mark)) return Placing::again;
  const Slot fresh{id_of(where.other.fingerprint, shape.number(), Kind::live), where.live.word};
  if (!kCures.moves_at_once) {
    return Steps::cas(*place, mark, fresh) ? Placing::marked : Placing::again;
  }
  const std::array<Change, 2> changes{Change{from, where.found.seen, Slot{}},
                                      Change{place, mark, fresh}};
  if (claims_.apply(changes)) return Placing::marked;
  places_.drop(*place, mark);
  return Placing::again;
}

// Of a group: brings over a state that is to be written. False when there is none to bring.
template <class Steps, Cures kCures>
bool BasicTable<Steps, kCures>::bring_over(Group& group, Instant now) {
  InlineVector<Slot*, kMostCharges> taken;
  for (Spot& spot : group.spots) {
    if (spot.slot != nullptr) taken.emplace_back(spot.slot);
  }
  for (std::size_t i = 0; i < group.spots.size(); ++i) {
    Spot& spot = group.spots[i];
    if (!spot.moves || spot.stays || !writes(group, i)) continue;
    Where where;
    if (locate(*spot.charge, where) && where.moves) {
      spot.stays = go_over(where, now, taken.all()) == Placing::full;
    }
    return true;
  }
  return false;
}

}  // namespace suimon::table
