// BasicTable's decisions over several states at once. Included by basic_table.h, at its end.
//
// Read all states, decide, and only if all is admitted: end claims that are in the way, mark places
// for new keys, and change all states as one. Whatever turns out to have changed on the way: again.
#pragma once

namespace suimon::table {

// The commonest case: all states are there, in the newest shapes, and tokens are taken from each.
// False, and nothing has happened: take_all() decides.
template <class Steps, Cures kCures>
bool BasicTable<Steps, kCures>::take_all_quickly(std::span<const Charge> charges,
                                                 std::span<Decision> decisions, Instant now) {
  InlineVector<Change, kMostCharges> changes;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const Charge& charge = charges[i];
    const ShapeView shape = newest(charge.shape);
    if (charge.op != Op::take || charge.keyless || charge.amount > shape.scale().capacity)
      return false;
    const Front front(memory_, Steps::kSlotsInLine, charge.key.low);
    const std::uint64_t id = id_of(fingerprint_of(charge.key), shape.number(), Kind::live);
    Slot* const slot = find_live(front, id);
    if (slot == nullptr) return false;
    for (const Change& other : changes) {
      if (other.slot == slot) return false;
    }
    // Read apart; the claim succeeds only if they were one state.
    const Slot seen{id, Steps::load(slot->word)};
    const detail::Taken taken = take(shape, seen, charge.amount, now);
    if (!taken.fits || taken.word == seen.word) return false;
    changes.emplace_back(Change{slot, seen, {id, taken.word}});
    std::construct_at(&decisions[i], Outcome::allowed, shape.scale(), now, taken.debt,
                      charge.amount, charge.amount);
  }
  return !changes.empty() && claims_.apply(changes.all());
}

template <class Steps, Cures kCures>
bool BasicTable<Steps, kCures>::take_all(std::span<const Charge> charges,
                                         std::span<Decision> decisions, Instant now) {
  Group group;
  list(group, charges);
  const auto answer = [&](bool taken) {
    for (std::size_t i = 0; i < charges.size(); ++i) {
      decisions[i] = group.accounts[i].step.decision;
    }
    return taken;
  };
  for (unsigned attempt = 0;; ++attempt) {
    if (attempt != 0) Steps::back_off(attempt);
    if (!open(group, now)) continue;
    if (!decide_jointly(group.accounts.all())) return answer(false);
    if (settle_claims(group) || bring_over(group, now)) continue;
    if (place_newcomers(group, now) == Placing::marked) {
      // H may have been raised since newcomers were decided.
      for (auto& account : group.accounts) {
        if (!group.spots[account.place].marked) continue;
        const Start begin = start(account.shape, now, places_.horizon());
        account.stored = begin.word;
        account.now = begin.now;
      }
      const bool taken = decide_jointly(group.accounts.all());
      if (taken && commit(group, now)) return answer(true);
      drop_marks(group);
      if (!taken) return answer(false);
    } else {
      drop_marks(group);
    }
  }
}

// The states that the charges name, each once. Charges of a limit without a key, in order, go last:
// what many share is claimed for the shortest time.
template <class Steps, Cures kCures>
void BasicTable<Steps, kCures>::list(Group& group, std::span<const Charge> charges) {
  for (const Charge& charge : charges) {
    Slot* const own = kCures.own_places && charge.keyless ? &own_of(charge).keyless : nullptr;
    const Candidates key = places_.candidates(charge.key);
    std::size_t place = 0;
    for (; place < group.spots.size(); ++place) {
      const Spot& other = group.spots[place];
      // By what the table tells keys apart by: two that look the same there are one state.
      if (own != nullptr ? own == other.own
                         : other.own == nullptr && other.key.fingerprint == key.fingerprint) {
        break;
      }
    }
    if (place == group.spots.size()) {
      group.spots.emplace_back(Spot{.charge = &charge, .key = key, .own = own});
    }
    auto& account = group.accounts.emplace_back();
    account.charge = &charge;
    account.place = place;
  }
}

// Reads all states. False when one was on the move.
template <class Steps, Cures kCures>
bool BasicTable<Steps, kCures>::open(Group& group, Instant now) {
  for (std::size_t i = 0; i < group.spots.size(); ++i) {
    Spot& spot = group.spots[i];
    Slot live;
    if (!look_at(spot, live)) return false;
    spot.other_tier = false;
    for (auto& account : group.accounts) {
      if (account.place != i) continue;
      account.shape = ShapeView(memory_.shapes, account.charge->shape).newest();
      account.now = now;
      if (!spot.absent) {
        const Reading reading = read_in(account.shape, live, now);
        account.stored = reading.word;
        spot.other_tier = spot.other_tier || reading.other_tier;
      } else if (spot.unkept) {
        account.stored =
            stand_in<Word>(when_full_, account.shape.algorithm(), account.shape.scale(), now);
      } else if (spot.own == nullptr) {
        const Start begin = start(account.shape, now, places_.horizon());
        account.stored = begin.word;
        account.now = begin.now;
      } else {
        account.stored = {};
      }
    }
  }
  return true;
}

// Finds a spot's slot and what its state is, whatever decision it may be in.
template <class Steps, Cures kCures>
bool BasicTable<Steps, kCures>::look_at(Spot& spot, Slot& live) {
  if (spot.own == nullptr && spot.charge->rekey != Rekey::none) return look_at_both(spot, live);
  if (spot.own != nullptr) {
    spot.slot = spot.own;
    spot.seen = Steps::load(*spot.own);
  } else {
    const auto found = places_.find(spot.key);
    spot.slot = found.slot;
    spot.seen = found.seen;
  }
  live = spot.seen;
  spot.marked = false;
  spot.claimed = kind_of(spot.seen.id) == Kind::claimed;
  if (spot.claimed) {
    const auto state = claims_.state_of_claimed(spot.seen);
    if (!state) return recheck(*spot.slot, spot.seen);
    live = *state;
  }
  spot.absent = kind_of(live.id) != Kind::live;
  return true;
}

// The same under both keys of a client that has two.
template <class Steps, Cures kCures>
bool BasicTable<Steps, kCures>::look_at_both(Spot& spot, Slot& live) {
  Where where;
  if (!locate(*spot.charge, where)) return false;
  spot.key = where.home;
  spot.is_newer = where.is_newer;
  spot.moves = where.moves;
  spot.slot = where.found.slot;
  spot.seen = where.found.seen;
  spot.marked = false;
  spot.claimed = is_claimed(where.found);
  spot.absent = kind_of(where.live.id) != Kind::live;
  live = where.live;
  return true;
}

template <class Steps, Cures kCures>
bool BasicTable<Steps, kCures>::writes(Group& group, std::size_t spot) {
  return std::any_of(group.accounts.begin(), group.accounts.end(), [&](const auto& account) {
    return account.place == spot && account.step.writes;
  });
}

// Ends the claims on states that are to be written. Otherwise the claim of an owner that died would
// stand for ever.
template <class Steps, Cures kCures>
bool BasicTable<Steps, kCures>::settle_claims(Group& group) {
  bool settled = false;
  for (std::size_t i = 0; i < group.spots.size(); ++i) {
    Spot& spot = group.spots[i];
    if (!spot.claimed || !writes(group, i)) continue;
    claims_.settle(*spot.slot, spot.seen);
    settled = true;
  }
  return settled;
}

// A marked and verified place for every new key that is to be written. Who finds none goes
// elsewhere from here on.
template <class Steps, Cures kCures>
typename BasicTable<Steps, kCures>::Placing BasicTable<Steps, kCures>::place_newcomers(
    Group& group, Instant now) {
  InlineVector<Slot*, kMostCharges> taken;
  for (Spot& spot : group.spots) {
    if (spot.slot != nullptr) taken.emplace_back(spot.slot);
  }
  for (std::size_t i = 0; i < group.spots.size(); ++i) {
    Spot& spot = group.spots[i];
    if (!spot.absent || spot.own != nullptr || spot.unkept || !writes(group, i)) continue;
    const Charge& charge = *spot.charge;
    const bool two_keys = charge.rekey != Rekey::none;
    Candidates other;
    if (two_keys) {
      const bool home_is_key = (charge.rekey == Rekey::move) == spot.is_newer;
      other = places_.candidates(home_is_key ? charge.other : charge.key);
    }
    if (spot.slot == nullptr) {
      const ShapeView shape = ShapeView(memory_.shapes, charge.shape).newest();
      const Placing placing = find_place(spot.key, two_keys ? &other : nullptr, shape, now,
                                         taken.all(), spot.slot, spot.seen);
      if (placing == Placing::full) send_elsewhere(group, i);
      if (placing != Placing::marked) return placing;
      taken.emplace_back(spot.slot);
    }
    spot.marked = true;
    if (!places_.verify(spot.key, spot.slot, spot.seen)) return Placing::again;
    if (two_keys && !places_.verify_other(other, spot.is_newer, spot.slot, spot.seen)) {
      return Placing::again;
    }
  }
  return Placing::marked;
}

// From here on the spot is its limit's overflow bucket, and two of one limit become one spot; or
// nothing is kept of it.
template <class Steps, Cures kCures>
void BasicTable<Steps, kCures>::send_elsewhere(Group& group, std::size_t spot) {
  std::size_t place = spot;
  if (when_full_ == WhenFull::share) {
    Slot* const overflow = &own_of(*group.spots[spot].charge).overflow;
    place = 0;
    while (place < group.spots.size() && group.spots[place].own != overflow) ++place;
    if (place == group.spots.size()) place = spot;
    group.spots[spot].own = overflow;
  } else {
    group.spots[spot].unkept = true;
  }
  for (auto& account : group.accounts) {
    if (account.place != spot) continue;
    account.place = place;
    if (group.spots[spot].unkept) {
      account.charge = &group.unkept.emplace_back(unkept(*account.charge));
    }
    Steps::count(memory_.shards, &Shard::overflows, 1);
  }
}

template <class Steps, Cures kCures>
void BasicTable<Steps, kCures>::drop_marks(Group& group) {
  for (Spot& spot : group.spots) {
    if (spot.marked) places_.drop(*spot.slot, spot.seen);
    spot.marked = false;
  }
}

// Changes all states as one. False when one of them has changed meanwhile.
template <class Steps, Cures kCures>
bool BasicTable<Steps, kCures>::commit(Group& group, Instant now) {
  InlineVector<Change, kMostCharges> changes;
  for (const bool own : {false, true}) {
    for (std::size_t i = 0; i < group.spots.size(); ++i) {
      const Spot& spot = group.spots[i];
      if ((spot.own != nullptr) != own || (spot.unkept && spot.absent)) continue;
      const Account<Word, ShapeView>* last = nullptr;
      for (const auto& account : group.accounts) {
        if (account.place == i && account.step.writes) last = &account;
      }
      if (last == nullptr) continue;
      if (spot.other_tier) places_.raise_horizon(now);
      const std::uint64_t fingerprint = own ? 0 : spot.key.fingerprint;
      changes.emplace_back(
          Change{spot.slot,
                 spot.seen,
                 {id_of(fingerprint, last->shape.number(), Kind::live), last->step.after.bits}});
    }
  }
  if (changes.empty()) return true;
  if (changes.size() == 1) return Steps::cas(*changes[0].slot, changes[0].seen, changes[0].fresh);
  return claims_.apply(changes.all());
}

}  // namespace suimon::table
