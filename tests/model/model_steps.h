// The table's atomic steps for the model: each is a point at which the scheduler may let another
// thread go on. The interface is that of suimon/table/steps.h.
//
// Lines of one slot: with three of them each key has the same three candidates, all that there are.
//
// Thread rule: from inside a Behaviour's program.
#pragma once

#include <cstdint>
#include <span>

#include "suimon/table/layout.h"
#include "suimon/table/slot.h"
#include "tests/model/behaviour.h"

namespace suimon::model {

struct ModelSteps {
  using Slot = table::Slot;
  using Shard = table::Shard;
  using Kind = Operation::Kind;

  static constexpr unsigned kSlotsInLine = 1;
  // Nobody waits: a rival that breaks a claim at once is the worst one, and one that waited is one
  // whose next step came late.
  static constexpr unsigned kPatience = 0;

  static std::uint64_t load(const std::uint64_t& word) { return perform(Kind::load, &word).low; }
  static void store(std::uint64_t& word, std::uint64_t value) {
    perform(Kind::store, &word, {}, {value, 0});
  }
  static bool cas(std::uint64_t& word, std::uint64_t expected, std::uint64_t desired) {
    return perform(Kind::cas, &word, {expected, 0}, {desired, 0}).done != 0;
  }
  static Slot load(const Slot& slot) {
    const Answer answer = perform(Kind::load_wide, &slot);
    return {answer.low, answer.high};
  }
  static bool cas(Slot& slot, const Slot& expected, const Slot& desired) {
    return perform(Kind::cas_wide, &slot, expected, desired).done != 0;
  }
  static bool cas_or_see(Slot& slot, Slot& seen, const Slot& desired) {
    const Answer answer = perform(Kind::cas_or_see, &slot, seen, desired);
    if (answer.done != 0) return true;
    seen = {answer.low, answer.high};
    return false;
  }

  static void pause() {}
  static void yield() {}
  static void back_off(unsigned attempt) { Behaviour::current().here().attempts = attempt; }
  static void prefetch(const void*) {}
  static void prefetch_to_write(const void*) {}
  static void keep(Slot*&) {}

  static unsigned thread() { return Behaviour::current().thread(); }
  // Of this thread and of nobody else, so that drawing one is no step.
  static std::uint64_t nonce(Shard*) {
    return ++Behaviour::current().here().nonces * kMostThreads + thread();
  }
  // Figures decide nothing and are no part of a state.
  static void count(Shard*, std::uint64_t Shard::*, std::uint64_t) {}
  static std::uint64_t self() { return thread() + 1; }
  // A thread that was stopped for ever is one whose process was killed. What it wrote down is read
  // without steps by whoever takes its descriptor over, because nobody writes there any more.
  static bool is_gone(std::uint64_t holder, bool) {
    if (perform(Kind::is_gone, &descriptors.data()->status, {holder - 1, 0}).done == 0)
      return false;
    for (table::Descriptor& descriptor : descriptors) {
      Behaviour::current().inherit(&descriptor.count);
      for (std::size_t i = 0; i < kMostParts; ++i) {
        table::Entry& entry = descriptor.entries[i];
        for (std::uint64_t* word :
             {&entry.slot, &entry.old.id, &entry.old.word, &entry.fresh.id, &entry.fresh.word}) {
          Behaviour::current().inherit(word);
        }
      }
    }
    return true;
  }

  // Of the table that is under test.
  static inline std::span<table::Descriptor> descriptors;

 private:
  static Answer perform(Kind kind, const void* word, const Slot& expected = {},
                        const Slot& desired = {}) {
    return Behaviour::current().perform(kind, word, expected, desired);
  }
};

}  // namespace suimon::model
