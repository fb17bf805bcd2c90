// Runs a scenario: the production template over the model's steps, through all interleavings, and
// says what was seen.
//
// Thread rule: one thread, one run at a time.
#pragma once

#include <array>
#include <chrono>
#include <cstdio>
#include <span>
#include <string>

#include "suimon/table/basic_table.h"
#include "tests/model/behaviour.h"
#include "tests/model/explorer.h"
#include "tests/model/model_steps.h"
#include "tests/model/scenario.h"
#include "tests/model/story.h"
#include "tests/model/table_law.h"

namespace suimon::model {

struct Seen : Report {
  std::string how;  // the story of what went wrong
};

// What each thread does: its calls, one after the other.
template <table::Cures kCures>
Behaviour::Program program_of(const Scenario& scenario, const World& world) {
  ModelSteps::descriptors = {world.memory().descriptors, world.memory().size.descriptors};
  return [&scenario,
          table = table::BasicTable<ModelSteps, kCures>(world.memory())](unsigned thread) mutable {
    for (const Call& call : scenario.actors[thread].calls) {
      std::array<Decision, kMostParts> decisions;
      const std::span<Decision> heard(decisions.data(), call.charges.size());
      const bool taken = table.take(call.charges, heard, call.now);
      Local& here = Behaviour::current().here();
      for (std::size_t i = 0; i < heard.size(); ++i) {
        here.told[here.calls][i] = {
            static_cast<std::uint64_t>(heard[i].outcome()) << 1 | (taken ? 1U : 0U),
            heard[i].at().ns};
      }
      here.attempts = 0;
      ++here.calls;
    }
  };
}

inline void print(const char* name, const Report& report, std::chrono::duration<double> took) {
  std::printf(
      "%s: %llu states, %llu moves, %llu ends, %llu cut, %zu local states, alone at most %llu "
      "steps, %.1f s%s\n",
      name, static_cast<unsigned long long>(report.states),
      static_cast<unsigned long long>(report.moves), static_cast<unsigned long long>(report.ends),
      static_cast<unsigned long long>(report.cut), report.nodes,
      static_cast<unsigned long long>(report.longest), took.count(),
      report.complete ? "" : ", NOT COMPLETE");
  std::fflush(stdout);
}

// `structure`: see TableLaw. Without a name nothing is printed.
template <table::Cures kCures = table::Cures{}>
Seen run(const char* name, const Scenario& scenario, const Bounds& bounds, bool structure = true) {
  const auto begun = std::chrono::steady_clock::now();
  World world(scenario);
  Behaviour behaviour(world.cells(), program_of<kCures>(scenario, world));
  TableLaw law(scenario, world, behaviour, structure);
  Explorer explorer(world.cells(), behaviour, world.cast(scenario), law);
  Seen seen{explorer.explore(bounds), {}};
  // What is wrong once is told by the run with the fewest interruptions that shows it.
  if (seen.wrong != nullptr && bounds.interruptions == Bounds::kAnyNumber) {
    Bounds fewer = bounds;
    for (fewer.interruptions = 0; fewer.interruptions < 8; ++fewer.interruptions) {
      Seen shorter{explorer.explore(fewer), {}};
      if (shorter.wrong == nullptr) continue;
      seen = shorter;
      break;
    }
  }
  if (seen.wrong != nullptr) {
    seen.how = std::string(seen.wrong) + ":\n" + told(seen.story, explorer, world);
  }
  if (name != nullptr) {
    print(name, seen, std::chrono::steady_clock::now() - begun);
    if (seen.wrong != nullptr) std::printf("%s", seen.how.c_str());
  }
  return seen;
}

}  // namespace suimon::model
