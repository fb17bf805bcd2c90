// The law of the table, as the model watches it.
//
// Promises are what callers rely on: the bound in every window, no refusal without a reason, what
// was answered is what was charged. The structure is what the protocol keeps them by: one state a
// key, changes that are all of a call's or none, H that never falls, absent means full.
//
// Thread rule: one thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tests/model/behaviour.h"
#include "tests/model/explorer.h"
#include "tests/model/scenario.h"

namespace suimon::model {

class TableLaw : public Law {
 public:
  // `structure`: watches that too. Without it only what a caller would notice is wrong.
  TableLaw(const Scenario& scenario, World& world, Behaviour& behaviour, bool structure);

  const char* after(const State& before, State& now, unsigned thread, bool wrote) override;
  const char* at_end(const State& state) override;
  bool watches(unsigned cell) const override;

 private:
  // Where states stand: a key, wherever it lies, or an own place of a limit.
  struct Place {
    std::uint64_t fingerprint = 0;
    unsigned own = 0;  // its cell
    bool is_own = false;
    ShapeNumber shape = 0;    // of the first charge that names it
    std::uint64_t newer = 0;  // the fingerprint under the newer secret, of a client with two keys
    bool is(const Place& other) const {
      return is_own == other.is_own && fingerprint == other.fingerprint && own == other.own;
    }
  };
  struct Standing {
    table::Slot state{};  // {0, 0}: absent
    unsigned copies = 0;
    bool orphaned = false;
  };
  struct Places {
    std::size_t place;     // the key, or the limit's own place
    std::size_t overflow;  // where it goes when there is no place
  };

  // Notes of a thread. Of its call under way; refusable, admissible: there was a moment at which
  // that was the right answer.
  static constexpr std::uint64_t kStarted = 1, kCharged = 2, kRefusable = 4, kAdmissible = 8;
  // A charge went to its limit's overflow bucket.
  static constexpr std::uint64_t overflowed(std::size_t call, std::size_t charge) {
    return std::uint64_t{16} << (call * kMostParts + charge);
  }
  // Note of a place: when the state that was last taken away there had been full, or that it owed.
  static constexpr std::uint64_t kPardoned = ~std::uint64_t{0};
  static unsigned note_of(std::size_t place) { return kMostThreads + static_cast<unsigned>(place); }
  // Note of a place: the instant as of which its last change of tier was read.
  static unsigned tier_note_of(std::size_t place) {
    return kMostThreads + kMostPlaces + static_cast<unsigned>(place);
  }
  static constexpr unsigned kMostPlaces = 8;

  std::size_t add(const Place& place);
  Place keyed(const Key& key, ShapeNumber shape) const;
  Standing standing(const State& state, const Place& place) const;
  table::Slot state_in(const State& state, const table::Slot& slot, bool& orphaned) const;
  Instant horizon(const State& state) const;
  bool lacks(const State& state, unsigned thread) const;
  void note_answers(State& state) const;
  std::uint64_t right_answer(const State& state, unsigned thread) const;

  const char* compare(const State& before, State& now, unsigned thread);
  const char* gone(State& now, std::size_t place, const table::Slot& was, Instant clock,
                   bool own) const;
  const char* charged_rightly(State& now, std::size_t place, const table::Slot& was,
                              const table::Slot& is, Instant clock, const Charge& charge) const;
  const char* new_tier(State& now, std::size_t place, const table::Slot& was, const table::Slot& is,
                       Instant clock, const Charge& charge) const;
  const char* answered(State& now, unsigned thread);
  const char* windows(const State& state) const;
  const char* leftovers(const State& state) const;

  std::uint64_t read_as(const table::Slot& slot, ShapeNumber shape, Instant when) const;
  const detail::Scale& scale(ShapeNumber shape) const {
    return world_.memory().shapes[shape].scale;
  }
  std::uint64_t word(const State& state, const void* address) const {
    return world_.cells().get(state, world_.cells().of(address));
  }

  const Scenario& scenario_;
  World& world_;
  Behaviour& behaviour_;
  bool structure_;
  std::vector<Place> places_;
  std::vector<Instant> readings_;                           // of clocks: H is one of them
  std::vector<std::vector<std::vector<Places>>> of_calls_;  // by thread, call, charge
};

}  // namespace suimon::model
