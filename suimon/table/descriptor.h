// A descriptor: one decision over several slots, so that all of them change or none.
//
//   status = seq:48 | state:2 (low)        ref = desc:12 | seq:48 | entry:4
//
// A slot that is claimed holds a ref in place of its state; what its state is, the descriptor says:
// `old` until the decision is committed, `fresh` from then on. Deciding is one CAS on the status.
// A seq is used once, so a ref that is late never means another decision.
// Source: the multi-word CAS of Harris, Fraser and Pratt (2002), with only the owner claiming.
#pragma once

#include <array>
#include <cstdint>

#include "suimon/core/charge.h"
#include "suimon/table/slot.h"

namespace suimon::table {

enum class State : std::uint8_t { idle, undecided, committed, aborted };

constexpr std::uint64_t status_of(std::uint64_t seq, State state) {
  return seq << 2 | static_cast<std::uint64_t>(state);
}
constexpr State state_of(std::uint64_t status) { return static_cast<State>(status & 3); }
constexpr std::uint64_t seq_of(std::uint64_t status) { return status >> 2 & kFingerprints; }

struct Ref {
  std::uint64_t descriptor;
  std::uint64_t seq;
  std::uint64_t entry;
};
constexpr std::uint64_t word_of(const Ref& ref) {
  return ref.descriptor << 52 | ref.seq << 4 | ref.entry;
}
constexpr Ref ref_of(std::uint64_t word) {
  return {word >> 52, word >> 4 & kFingerprints, word & 15};
}

struct Entry {
  std::uint64_t slot = 0;  // which, counted from the start of the region
  Slot old;                // empty: the key was absent
  Slot fresh;
};

struct alignas(64) Descriptor {
  std::uint64_t status = 0;
  std::uint64_t holder = 0;  // who uses it now (Steps::self), 0: nobody
  std::uint64_t count = 0;
  std::array<Entry, kMostCharges> entries;
};

inline constexpr std::uint32_t kMostDescriptors = 1 << 12;

}  // namespace suimon::table
