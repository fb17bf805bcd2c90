// Goes through everything that threads can do in any order: depth first, each state once.
//
// A move lets one thread do one atomic step, or stops one thread for ever. After each move a Law
// says whether that was right.
//
// Thread rule: one thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tests/model/behaviour.h"
#include "tests/model/cells.h"
#include "tests/model/state.h"

namespace suimon::model {

struct Move {
  unsigned thread = 0;
  bool kill = false;
};

// Who plays, and what of it is looked at.
struct Cast {
  unsigned threads = 0;
  std::array<bool, kMostThreads> killable{};
  std::array<bool, kMostThreads> last{};  // begins when all others have ended or were stopped
};

// Where the explorer stops. A thread that loses again and again begins again for ever, with fresh
// numbers, so some bound is needed; how many paths met it is counted.
struct Bounds {
  std::uint64_t nonces = 3;    // marks that a thread places
  std::uint64_t attempts = 2;  // times that a decision over several states begins again
  unsigned kills = 0;
  // Of how many states, one: whether each thread ends when it goes on alone. 0: of none.
  std::uint64_t alone_every = 0;
  std::uint64_t alone_steps = 400;
  // How often a thread may be interrupted. Finds the shortest story of what goes wrong.
  unsigned interruptions = kAnyNumber;
  std::uint64_t states = 60'000'000;

  static constexpr unsigned kAnyNumber = ~0U;
};

// What must be true. Each call says what is wrong, or nothing.
class Law {
 public:
  virtual ~Law() = default;
  // `thread` has made a step from `before` to `now`, and may leave notes in it. `wrote`: the step
  // changed memory.
  virtual const char* after(const State& before, State& now, unsigned thread, bool wrote) = 0;
  virtual const char* at_end(const State& state) = 0;
  // Whether it looks at this cell, so that each write to it must be a step of its own.
  virtual bool watches(unsigned cell) const = 0;
};

struct Report {
  const char* wrong = nullptr;
  std::vector<Move> story;  // that leads to it
  bool complete = true;     // false: there are more states than Bounds::states
  std::uint64_t states = 0;
  std::uint64_t moves = 0;
  std::uint64_t ends = 0;
  std::uint64_t cut = 0;      // states that were not followed, because of Bounds
  std::uint64_t longest = 0;  // steps of a thread that went on alone
  std::size_t nodes = 0;      // of the graph of what threads do
};

class Explorer {
 public:
  Explorer(Cells& cells, Behaviour& behaviour, const Cast& cast, Law& law)
      : cells_(cells), behaviour_(behaviour), cast_(cast), law_(law) {}

  Report explore(const Bounds& bounds);

  State start();
  // Requires a thread that has not ended. True when memory has changed.
  bool step(State& state, unsigned thread);
  bool is_over(const State& state, unsigned thread) const;

 private:
  struct Frame {
    State state;
    unsigned killed = 0;
    unsigned last = kMostThreads;  // who moved
    unsigned interruptions = 0;
    unsigned choice = 0;  // the next one to try
    Move came_by{};
  };

  void explore_once(const Bounds& bounds);
  bool may_move(const Frame& frame, Move move, const Bounds& bounds) const;
  bool interrupts(const Frame& frame, unsigned thread) const;
  const char* move(const Frame& from, Move move, Frame& to);
  const char* arrive(const State& state, const Bounds& bounds);
  static Hash identity(const Frame& frame, const Bounds& bounds);
  bool others_are_over(const State& state, unsigned thread) const;
  bool is_cut(const State& state, unsigned thread, const Bounds& bounds) const;
  bool ends_alone(const State& state, const Bounds& bounds);
  bool goes_on(const Operation& operation) const;
  Answer apply(State& state, const Operation& operation, bool& wrote);

  Cells& cells_;
  Behaviour& behaviour_;
  Cast cast_;
  Law& law_;
  Report report_;
  bool shared_more_ = false;  // what was thought to be one thread's is not: begin again
};

}  // namespace suimon::model
