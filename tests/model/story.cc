#include "tests/model/story.h"

#include <cctype>

namespace suimon::model {
namespace {

std::string name_of(const table::Slot& slot) {
  const auto letter = static_cast<int>(table::fingerprint_of(slot.id) & 0x7f);
  const std::string who =
      std::isgraph(letter) != 0 ? std::string(1, static_cast<char>(letter)) : "?";
  const auto ns = static_cast<std::int64_t>(slot.word ^ (std::uint64_t{1} << 63));
  switch (table::kind_of(slot.id)) {
    case table::Kind::empty:
      return "empty";
    case table::Kind::live:
      return who + " full at " + std::to_string(ns);
    case table::Kind::pending:
      return who + " pending";
    case table::Kind::claimed:
      return who + " claimed";
  }
  return {};
}

std::string name_of_status(std::uint64_t status) {
  constexpr const char* kNames[] = {"idle", "undecided", "committed", "aborted"};
  return kNames[static_cast<unsigned>(table::state_of(status))];
}

// What has changed in a way that matters, or nothing.
std::string change(const State& before, const State& after, World& world) {
  Cells& cells = world.cells();
  const auto get = [&](const State& state, const void* word) {
    return cells.get(state, cells.of(word));
  };
  std::string text;
  const auto slot = [&](const std::string& name, const table::Slot& place) {
    const table::Slot was{get(before, &place.id), get(before, &place.word)};
    const table::Slot is{get(after, &place.id), get(after, &place.word)};
    if (was != is) text += "; " + name + ": " + name_of(was) + " -> " + name_of(is);
  };
  const table::Memory& memory = world.memory();
  for (unsigned i = 0; i < table::kLinesOfKey; ++i)
    slot("slot " + std::to_string(i), world.slot(i));
  for (unsigned i = 0; i < memory.size.shapes; ++i) {
    slot("keyless", memory.own[i].keyless);
    slot("overflow", memory.own[i].overflow);
  }
  for (unsigned i = 0; i < memory.size.descriptors; ++i) {
    const std::uint64_t* status = &memory.descriptors[i].status;
    if (get(before, status) != get(after, status)) {
      text += "; decision " + std::to_string(i + 1) + " " + name_of_status(get(after, status));
    }
  }
  const std::uint64_t horizon = get(after, &memory.header->horizon);
  if (horizon != get(before, &memory.header->horizon)) {
    text +=
        "; H = " + std::to_string(static_cast<std::int64_t>(horizon ^ (std::uint64_t{1} << 63)));
  }
  return text;
}

}  // namespace

std::string told(const std::vector<Move>& story, Explorer& explorer, World& world) {
  std::string text;
  std::string block;
  State state = explorer.start();
  unsigned steps = 0;
  for (std::size_t i = 0; i < story.size(); ++i) {
    const Move& move = story[i];
    if (move.kill) {
      state.set_node(move.thread, kKilled);
      text += "  T" + std::to_string(move.thread + 1) + " is stopped for ever\n";
      continue;
    }
    const State before = state;
    explorer.step(state, move.thread);
    ++steps;
    block += change(before, state, world);
    const bool ends = explorer.is_over(state, move.thread);
    if (ends || i + 1 == story.size() || story[i + 1].kill || story[i + 1].thread != move.thread) {
      text += "  T" + std::to_string(move.thread + 1) + " " + std::to_string(steps) + " steps" +
              block + (ends ? "; ends" : "") + "\n";
      block.clear();
      steps = 0;
    }
  }
  return text;
}

}  // namespace suimon::model
