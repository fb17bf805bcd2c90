// Scenarios of decisions over two clients of two limits.
//
// Thread rule: one thread.
#pragma once

#include <utility>
#include <vector>

#include "tests/model/families.h"
#include "tests/model/scenario.h"

namespace suimon::model {

inline const bool kLong = test::stretch() > 1;
// How often a decision begins again.
inline const std::uint64_t kAttempts = kLong ? 2 : 1;

inline const Key kA = client('A', 0, 1);
inline const Key kB = client('B', 1, 2);
inline constexpr ShapeNumber kOfB = 2;

inline Charge one(const Key& key) { return charge(key, 1, key == kB ? kOfB : 0); }
inline Actor pair() { return takes(0ns, {one(kA), one(kB)}); }
inline Actor turned_pair() { return takes(0ns, {one(kB), one(kA)}); }

// Both have one token of two.
inline Scenario living(std::vector<Actor> actors) {
  constexpr Bucket kTwo{.capacity = 2, .token = 10ns};
  return {.limits = {kTwo, kOfResidents, kTwo},
          .residents = {{0, kA, 10ns, 0}, {1, kB, 10ns, kOfB}},
          .actors = std::move(actors)};
}
// Neither is there, and they have one token each.
inline Scenario absent(std::vector<Actor> actors) {
  return {.limits = {{}, kOfResidents, {}}, .actors = std::move(actors)};
}

// Tables in which A and B live and owe, or in whose places others live, with one or two tokens.
inline constexpr std::uint64_t kTablesOfPairs = 8 * 8 * kSorts * 4;
inline Scenario table_of_pairs(Choice& choice) {
  Scenario scenario{.limits = {{}, kOfResidents, {}}};
  for (const ShapeNumber shape : {ShapeNumber{0}, kOfB}) {
    constexpr Duration kFull[] = {-5ns, 10ns, 20ns};
    const unsigned slot = shape == 0 ? 0 : 1;
    const unsigned sort = choice.of(8);
    if (sort < 3) scenario.residents.push_back({slot, shape == 0 ? kA : kB, kFull[sort], shape});
    if (sort >= 3) live_in(scenario, slot, static_cast<Sort>(sort - 3));
  }
  live_in(scenario, 2, static_cast<Sort>(choice.of(kSorts)));
  scenario.limits[0].capacity = 1 + choice.of(2);
  scenario.limits[kOfB].capacity = 1 + choice.of(2);
  return scenario;
}

}  // namespace suimon::model
