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
    ShapeNumber shape = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct Standing {
    table::Slot state{};  // {0, 0}: absent
    unsigned copies = 0;
    bool orphaned = false;
  };
  // Of a thread's call under way.
  static constexpr std::uint64_t started = 1, charged = 2, refusable = 4;
  // Of the thread: a charge went to its limit's overflow bucket.
  static constexpr std::uint64_t overflowed(std::size_t call, std::size_t charge) {
    return std::uint64_t{8} << (call * kMostParts + charge);
  }
  // Of each place: when the state that was last taken away there had been full, or that it owed.
  static constexpr std::uint64_t kPardoned = ~std::uint64_t{0};
  static unsigned note_of(std::size_t place) { return kMostThreads + static_cast<unsigned>(place); }

  std::size_t add(const Place& place);
  Standing standing(const State& state, const Place& place) const;
  table::Slot state_in(const State& state, const table::Slot& slot, bool& orphaned) const;
  Instant horizon(const State& state) const;
  bool lacks(const State& state, unsigned thread) const;
  void note_refusals(State& state) const;

  const char* compare(const State& before, State& now, unsigned thread);
  const char* gone(const State& now, std::size_t place, const table::Slot& was, Instant clock,
                   State& notes) const;
  const char* charged_rightly(const State& now, std::size_t place, const table::Slot& was,
                              const table::Slot& is, const Call& call) const;
  const char* answered(State& now, unsigned thread);
  const char* windows(const State& state) const;
  const char* leftovers(const State& state) const;

  const detail::Scale& scale_of(const Place& place) const {
    return world_.memory().shapes[place.shape].scale;
  }
  std::uint64_t word(const State& state, const void* address) const {
    return world_.cells().get(state, world_.cells().of(address));
  }

  const Scenario& scenario_;
  World& world_;
  Behaviour& behaviour_;
  bool structure_;
  std::vector<Place> places_;
  struct Places {
    std::size_t place;     // the key, or the limit's own place
    std::size_t overflow;  // where it goes when there is no place
  };
  std::vector<std::vector<std::vector<Places>>> of_calls_;  // by thread, call, charge
};

}  // namespace suimon::model
