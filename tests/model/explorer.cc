#include "tests/model/explorer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/model/visited.h"

namespace suimon::model {

Report Explorer::explore(const Bounds& bounds) {
  do {
    shared_more_ = false;
    explore_once(bounds);
  } while (shared_more_);
  return report_;
}

void Explorer::explore_once(const Bounds& bounds) {
  report_ = {};
  Visited visited;
  std::vector<Frame> path(1);
  path.back().state = start();
  visited.insert(path.back().state.hash());
  Frame next;
  while (!path.empty() && report_.wrong == nullptr && report_.complete) {
    Frame& frame = path.back();
    if (frame.choice == 2 * cast_.threads) {
      path.pop_back();
      continue;
    }
    const unsigned choice = frame.choice++;
    // Who moved last goes first, so that stories are of few words.
    const unsigned first = frame.last == kMostThreads ? 0 : frame.last;
    const Move move{(first + choice) % cast_.threads, choice >= cast_.threads};
    if (!may_move(frame, move, bounds)) continue;
    report_.wrong = this->move(frame, move, next);
    ++report_.moves;
    if (shared_more_) return;
    if (report_.wrong == nullptr) {
      if (!visited.insert(identity(next, bounds))) continue;
      report_.complete = visited.size() < bounds.states;
      if (!move.kill && is_cut(next.state, move.thread, bounds)) {
        ++report_.cut;
        continue;
      }
      report_.wrong = arrive(next.state, bounds);
    }
    path.push_back(next);
  }
  for (std::size_t i = 1; i < path.size() && report_.wrong != nullptr; ++i) {
    report_.story.push_back(path[i].came_by);
  }
  report_.states = visited.size();
  report_.nodes = behaviour_.size();
}

// What tells states apart: not only what they are when the number of interruptions is bounded.
Hash Explorer::identity(const Frame& frame, const Bounds& bounds) {
  Hash identity = frame.state.hash();
  if (bounds.interruptions != Bounds::kAnyNumber) {
    identity += part(1000, frame.last * std::uint64_t{1000} + frame.interruptions);
  }
  return identity;
}

// Looks at a state that was not met before.
const char* Explorer::arrive(const State& state, const Bounds& bounds) {
  bool over = true;
  for (unsigned i = 0; i < cast_.threads; ++i) over = over && is_over(state, i);
  if (over) {
    ++report_.ends;
    return law_.at_end(state);
  }
  const bool alone = bounds.alone_every != 0 && state.hash().b % bounds.alone_every == 0;
  if (alone && !ends_alone(state, bounds)) {
    return "a thread that goes on alone does not come to an end";
  }
  return nullptr;
}

bool Explorer::may_move(const Frame& frame, Move move, const Bounds& bounds) const {
  const State& state = frame.state;
  if (is_over(state, move.thread)) return false;
  if (cast_.last[move.thread] && !others_are_over(state, move.thread)) return false;
  if (move.kill) return cast_.killable[move.thread] && frame.killed < bounds.kills;
  return !interrupts(frame, move.thread) || frame.interruptions < bounds.interruptions;
}

// What was wrong with it.
const char* Explorer::move(const Frame& from, Move move, Frame& to) {
  to.state = from.state;
  to.killed = from.killed;
  to.last = from.last;
  to.interruptions = from.interruptions;
  to.choice = 0;
  to.came_by = move;
  if (move.kill) {
    to.state.set_node(move.thread, kKilled);
    ++to.killed;
    return nullptr;
  }
  if (interrupts(from, move.thread)) ++to.interruptions;
  to.last = move.thread;
  const bool wrote = step(to.state, move.thread);
  return law_.after(from.state, to.state, move.thread, wrote);
}

// Whether another thread would have gone on.
bool Explorer::interrupts(const Frame& frame, unsigned thread) const {
  return frame.last != kMostThreads && frame.last != thread && !is_over(frame.state, frame.last);
}

State Explorer::start() {
  State state;
  for (unsigned i = 0; i < cast_.threads; ++i) state.set_node(i, behaviour_.root(i));
  return state;
}

bool Explorer::is_over(const State& state, unsigned thread) const {
  return state.node(thread) == kKilled || behaviour_.has_ended(state.node(thread));
}

bool Explorer::others_are_over(const State& state, unsigned thread) const {
  for (unsigned i = 0; i < cast_.threads; ++i) {
    if (i != thread && !is_over(state, i)) return false;
  }
  return true;
}

bool Explorer::is_cut(const State& state, unsigned thread, const Bounds& bounds) const {
  const Local& local = behaviour_.local(state.node(thread));
  return local.nonces > bounds.nonces || local.attempts > bounds.attempts;
}

bool Explorer::step(State& state, unsigned thread) {
  constexpr unsigned kMostAtOnce = 1000;
  const std::uint64_t calls = behaviour_.local(state.node(thread)).calls;
  bool wrote = false;
  for (unsigned steps = 0;; ++steps) {
    const Operation& operation = behaviour_.operation(state.node(thread));
    if (operation.kind == Operation::Kind::end) return wrote;
    if (steps != 0 && !goes_on(operation)) return wrote;
    const bool writes = operation.writes();
    if (operation.kind != Operation::Kind::is_gone) {
      shared_more_ |= cells_.becomes_shared(operation.cell, thread, writes);
    }
    if (operation.is_wide()) {
      shared_more_ |= cells_.becomes_shared(operation.cell + 1U, thread, writes);
    }
    const Answer answer = apply(state, operation, wrote);
    state.set_node(thread, behaviour_.next(state.node(thread), answer));
    if (behaviour_.local(state.node(thread)).calls != calls) return wrote;
    if (steps == kMostAtOnce) {
      std::fprintf(stderr, "model: a thread waits for something that nobody changes\n");
      std::abort();
    }
  }
}

// Whether a step belongs to the one before it, because nobody can tell when it happens.
bool Explorer::goes_on(const Operation& operation) const {
  if (operation.kind == Operation::Kind::is_gone || cells_.is_shared(operation.cell) ||
      (operation.is_wide() && cells_.is_shared(operation.cell + 1U))) {
    return false;
  }
  return !operation.writes() || !law_.watches(operation.cell);
}

Answer Explorer::apply(State& state, const Operation& operation, bool& wrote) {
  using Kind = Operation::Kind;
  const unsigned cell = operation.cell;
  const auto put = [&](unsigned where, std::uint64_t value) {
    wrote = wrote || cells_.get(state, where) != value;
    cells_.set(state, where, value);
  };
  const table::Slot there{cells_.get(state, cell), cells_.get(state, cell | 1)};
  switch (operation.kind) {
    case Kind::load:
      return {.low = there.id};
    case Kind::load_wide:
      return {.low = there.id, .high = there.word};
    case Kind::store:
      put(cell, operation.desired.id);
      return {};
    case Kind::cas:
      if (there.id != operation.expected.id) return {};
      put(cell, operation.desired.id);
      return {.done = 1};
    case Kind::cas_wide:
    case Kind::cas_or_see:
      if (there != operation.expected) {
        if (operation.kind == Kind::cas_wide) return {};
        return {.low = there.id, .high = there.word};
      }
      put(cell, operation.desired.id);
      put(cell + 1, operation.desired.word);
      return {.done = 1};
    case Kind::is_gone:
      return {.done =
                  state.node(static_cast<unsigned>(operation.expected.id)) == kKilled ? 1U : 0U};
    case Kind::end:
      break;
  }
  return {};
}

bool Explorer::ends_alone(const State& state, const Bounds& bounds) {
  for (unsigned thread = 0; thread < cast_.threads; ++thread) {
    if (is_over(state, thread)) continue;
    if (cast_.last[thread] && !others_are_over(state, thread)) continue;
    State alone = state;
    std::uint64_t steps = 0;
    while (!is_over(alone, thread) && steps < bounds.alone_steps) {
      step(alone, thread);
      ++steps;
    }
    if (!is_over(alone, thread)) return false;
    report_.longest = std::max(report_.longest, steps);
  }
  return true;
}

}  // namespace suimon::model
