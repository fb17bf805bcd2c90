// What each thread does, as a graph: a node is where a thread stands before an atomic step, an edge
// is what that step told it.
//
// The graph grows as the explorer asks for it. Where an edge is missing, the real code runs from
// its start on a fiber, is told again what it was told on the way, then the new answer, and stops
// before its next step. It depends on nothing but these answers, so each piece of it runs once,
// however many states of the whole share it. Two ways that end in equal bytes of the stack end in
// one node.
//
// Thread rule: one thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "suimon/table/slot.h"
#include "tests/model/cells.h"
#include "tests/model/fiber.h"
#include "tests/model/state.h"

namespace suimon::model {

inline constexpr unsigned kMostCalls = 2;  // of one thread
inline constexpr unsigned kMostParts = 2;  // charges of one call

// One atomic step.
struct Operation {
  enum class Kind : std::uint8_t {
    load,
    load_wide,
    store,
    cas,
    cas_wide,
    cas_or_see,
    is_gone,  // whether the thread whose number is `expected.id` was stopped for ever
    end,
  };
  Kind kind = Kind::end;
  std::uint16_t cell = 0;
  table::Slot expected{};  // of a CAS; a single word is `id`
  table::Slot desired{};   // of a CAS or a store

  bool writes() const {
    return kind == Kind::store || kind == Kind::cas || kind == Kind::cas_wide ||
           kind == Kind::cas_or_see;
  }
  bool is_wide() const {
    return kind == Kind::load_wide || kind == Kind::cas_wide || kind == Kind::cas_or_see;
  }
};

// What a step told its thread.
struct Answer {
  std::uint64_t done = 0;  // a CAS succeeded
  std::uint64_t low = 0;   // what was read
  std::uint64_t high = 0;
  friend bool operator==(const Answer&, const Answer&) = default;
};

// What a thread knows beside its stack.
struct Local {
  std::uint64_t nonces = 0;    // that it has drawn
  std::uint64_t attempts = 0;  // of its call: how often a decision over several states began again
  std::uint64_t calls = 0;     // that have been answered, and with what
  struct Told {
    std::uint64_t outcome = 0;
    std::int64_t at = 0;
    friend bool operator==(const Told&, const Told&) = default;
  };
  std::array<std::array<Told, kMostParts>, kMostCalls> told{};
  friend bool operator==(const Local&, const Local&) = default;
};

class Behaviour {
 public:
  using Program = std::function<void(unsigned thread)>;

  // `program` is what a thread does; it touches shared memory through perform() alone, but for
  // words that nobody but itself has stored with a plain store.
  Behaviour(Cells& cells, Program program);
  ~Behaviour() { current_ = nullptr; }
  Behaviour(const Behaviour&) = delete;
  Behaviour& operator=(const Behaviour&) = delete;

  // Where a thread stands that has done nothing.
  NodeId root(unsigned thread);
  // Where it stands once the step before which it stood has told it this.
  NodeId next(NodeId node, const Answer& answer);

  const Operation& operation(NodeId node) const { return nodes_[node].operation; }
  bool has_ended(NodeId node) const { return operation(node).kind == Operation::Kind::end; }
  const Local& local(NodeId node) const { return locals_[nodes_[node].local]; }
  std::size_t size() const { return nodes_.size(); }

  // From inside the program.
  static Behaviour& current() { return *current_; }
  Answer perform(Operation::Kind kind, const void* word, const table::Slot& expected = {},
                 const table::Slot& desired = {});
  // What a dead thread has stored becomes this one's, which reads it without a step from now on.
  void inherit(std::uint64_t* word);
  unsigned thread() const { return thread_; }
  Local& here() { return local_; }

 private:
  static constexpr std::uint32_t kNone = ~0U;

  struct Edge {
    Answer answer;
    NodeId target;
    std::uint32_t next;  // of the same node
  };
  struct Node {
    Operation operation;
    Answer answer;  // the last one on one way to it
    NodeId parent = kNone;
    std::uint32_t first_edge = kNone;
    std::uint32_t local = 0;
    unsigned thread = 0;
  };
  struct HashOf {
    std::size_t operator()(const Hash& hash) const { return hash.a; }
  };

  NodeId extend(NodeId node, const Answer& answer);
  void replay(unsigned thread, NodeId node);
  NodeId stand(NodeId parent, const Answer& answer);
  Hash identity() const;
  void keep_own_store(std::uint64_t* word, std::uint64_t value);
  void forget_own_stores();

  static inline Behaviour* current_ = nullptr;

  Cells& cells_;
  Program program_;
  std::function<void()> body_;
  Fiber fiber_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<Local> locals_;
  std::unordered_map<Hash, NodeId, HashOf> known_;
  std::array<NodeId, kMostThreads> roots_;

  // Of the run on the fiber.
  unsigned thread_ = 0;
  Local local_;
  std::vector<Answer> script_;  // what it is told before it pauses
  std::size_t told_ = 0;
  Answer fresh_;
  Operation pending_;
  NodeId paused_at_ = kNone;
  struct Stored {
    std::uint64_t* word;
    std::uint64_t before;
  };
  std::vector<Stored> own_stores_;
};

}  // namespace suimon::model
