// What TableLaw asks of a state in which all threads have ended or were stopped.
#include <vector>

#include "tests/model/table_law.h"

namespace suimon::model {

const char* TableLaw::at_end(const State& state) {
  if (const char* wrong = windows(state)) return wrong;
  return structure_ ? leftovers(state) : nullptr;
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
        if (state.note(tier_note_of(place)) != 0) continue;  // two rates: new_tier() watches
        const std::uint64_t amount = calls[c].charges[j].amount;
        if (killed) {
          // Requires that who may be killed makes one call.
          if ((state.note(i) & kCharged) != 0) admitted.push_back({place, calls[c].now, amount});
        } else if (const auto& told = behaviour_.local(state.node(i)).told[c];
                   (told[0].outcome & 1) != 0 && calls[c].charges[j].op == Op::take) {
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
      const detail::Scale& scale = this->scale(places_[first.place].shape);
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
    if (table::kind_of(id) == table::Kind::claimed) return "a claim was left";
  }
  for (unsigned i = 0; i < world_.memory().size.descriptors; ++i) {
    const std::uint64_t status = word(state, &world_.memory().descriptors[i].status);
    if (table::state_of(status) != table::State::idle) return "a decision was left open";
  }
  return nullptr;
}

}  // namespace suimon::model
