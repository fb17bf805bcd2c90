// BasicTable's states of replaced parameters, rewritten in the newest ones. Included by
// basic_table.h, at its end.
//
// Decisions go on meanwhile: what they write is in the newest parameters already, so one pass over
// all slots is enough.
#pragma once

namespace suimon::table {

template <class Steps, Cures kCures>
void BasicTable<Steps, kCures>::convert_replaced() {
  for (std::uint32_t i = 0; i < memory_.size.shapes; ++i) {
    convert_replaced(memory_.own[i].keyless);
    convert_replaced(memory_.own[i].overflow);
  }
  const std::uint64_t slots = memory_.size.lines * Steps::kSlotsInLine;
  for (std::uint64_t i = 0; i < slots; ++i) convert_replaced(memory_.lines[i]);
}

template <class Steps, Cures kCures>
bool BasicTable<Steps, kCures>::is_replaced(ShapeNumber number) const {
  if (number >= memory_.size.shapes) return false;
  const ShapeView shape(memory_.shapes, number);
  return shape.is_ready() && shape.next();
}

// A claimed slot may return to what it was before, which only shows when the claim is over. A
// mark holds no state, whatever shape it names.
template <class Steps, Cures kCures>
void BasicTable<Steps, kCures>::convert_replaced(Slot& slot) {
  for (;;) {
    const std::uint64_t id = Steps::load(slot.id);
    const bool claimed = kind_of(id) == Kind::claimed;
    if (!claimed && (kind_of(id) != Kind::live || !is_replaced(shape_of(id)))) return;
    const Slot seen = Steps::load(slot);
    if (seen.id != id) continue;
    if (claimed) {
      claims_.settle(slot, seen);
      continue;
    }
    const ShapeView from(memory_.shapes, shape_of(id));
    const ShapeView newest = from.newest();
    // Each change counts from its own instant, so no reading of the clock is needed.
    const Word word = read_as(Word{seen.word}, from, newest, Instant{});
    const Slot fresh{id_of(fingerprint_of(id), newest.number(), Kind::live), word.bits};
    if (Steps::cas(slot, seen, fresh)) return;
  }
}

}  // namespace suimon::table
