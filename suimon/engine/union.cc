#include "suimon/engine/union.h"

#include <algorithm>

namespace suimon {

void Union::clear() {
  status_ = Matched::Status::ok;
  for (Side* side : {&enforced_, &shadows_}) side->charged = side->missing = 0;
  count_ = 0;
}

// The place of a charge among those that are there; kMostCharges when there is no room for it.
std::size_t Union::Side::place_of(const Applied& by, const Charge& charge) {
  for (std::size_t i = 0; i < charged; ++i) {
    if (applied[i].rule != by.rule || charges[i].key != charge.key) continue;
    Charge& there = charges[i];
    if (charge.amount > there.amount) {
      there.amount = charge.amount;
      there.op = charge.op;
    }
    // The default is what holds where no tier is named.
    if (applied[i].bucket == &by.rule->buckets.front()) {
      applied[i].bucket = by.bucket;
      there.shape = charge.shape;
    }
    return i;
  }
  if (charged == kMostCharges) return kMostCharges;
  applied[charged] = by;
  charges[charged] = charge;
  return charged++;
}

std::size_t Union::Side::place_of(const Applied& lacks) {
  for (std::size_t i = 0; i < missing; ++i) {
    if (lacking[i].rule == lacks.rule) return i;
  }
  if (missing == kMostCharges) return kMostCharges;
  lacking[missing] = lacks;
  return missing++;
}

void Union::add(Side& side, std::size_t part, const Charged& from) {
  side.charged_of[part] = side.lacking_of[part] = 0;
  for (std::size_t i = 0; i < from.size; ++i) {
    const bool charged = i < from.charged;
    Applied applied = from.applied[i];
    applied.request = static_cast<std::uint32_t>(part);
    const std::size_t place =
        charged ? side.place_of(applied, from.charges[i]) : side.place_of(applied);
    if (place == kMostCharges) {
      status_ = Matched::Status::too_many_limits;
      return;
    }
    (charged ? side.charged_of : side.lacking_of)[part] |= LimitSet{1} << place;
  }
}

void Union::add(std::size_t part, const Matched& matched) {
  if (!good()) return;
  status_ = matched.status;
  count_ = part + 1;
  if (!good()) return;
  add(enforced_, part, matched.enforced);
  add(shadows_, part, matched.shadows);
}

// Charged limits first, then those that lack an attribute in every part.
void Union::Side::write(Charged& out, std::span<LimitSet> parts) const {
  std::copy_n(applied.begin(), charged, out.applied.begin());
  std::copy_n(charges.begin(), charged, out.charges.begin());
  out.charged = out.size = charged;
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = charged_of[i];
  for (std::size_t m = 0; m < missing; ++m) {
    const auto end = applied.begin() + static_cast<std::ptrdiff_t>(charged);
    const bool found = std::any_of(
        applied.begin(), end, [&](const Applied& other) { return other.rule == lacking[m].rule; });
    if (found) continue;
    if (out.size < kMostCharges) out.applied[out.size] = lacking[m];
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if ((lacking_of[i] >> m & 1U) != 0) parts[i] |= LimitSet{1} << out.size;
    }
    ++out.size;
  }
}

void Union::finish(Matched& out) {
  out.status = status_;
  if (!good()) return;
  std::array<LimitSet, kMost> unused;
  shadows_.write(out.shadows, {unused.data(), count_});
  enforced_.write(out.enforced, {parts_.data(), count_});
  if (out.enforced.size + out.shadows.size > kMostCharges) {
    out.status = status_ = Matched::Status::too_many_limits;
  }
}

void Union::keep(LimitSet places) {
  for (LimitSet& part : parts_) {
    LimitSet moved = 0;
    std::size_t to = 0;
    for (std::size_t from = 0; from < kMostCharges; ++from) {
      if ((places >> from & 1U) == 0) continue;
      moved |= (part >> from & 1U) << to++;
    }
    part = moved;
  }
}

}  // namespace suimon
