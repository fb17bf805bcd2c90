// A state of the model: what the threads share, where each of them is, and what the law that
// watches them has noted. Its hash is kept up with every change.
//
// Thread rule: a plain value.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>

#include "tests/model/hash.h"

namespace suimon::model {

inline constexpr unsigned kMostThreads = 4;
inline constexpr unsigned kMostCells = 112;
inline constexpr unsigned kMostNotes = 20;

// Where a thread is (behaviour.h).
using NodeId = std::uint32_t;
inline constexpr NodeId kKilled = ~NodeId{0};

class State {
 public:
  // A cell is a word of the shared memory. All are 0 until written (cells.h).
  std::uint64_t cell(unsigned i) const { return cells_[i]; }
  NodeId node(unsigned thread) const { return nodes_[thread]; }
  std::uint64_t note(unsigned i) const { return notes_[i]; }
  const Hash& hash() const { return hash_; }

  void set_cell(unsigned i, std::uint64_t value) { set(cells_[i], i, value); }
  void set_node(unsigned thread, NodeId node) { set(nodes_[thread], kMostCells + thread, node); }
  void set_note(unsigned i, std::uint64_t value) {
    set(notes_[i], kMostCells + kMostThreads + i, value);
  }

 private:
  template <class T>
  void set(T& place, unsigned number, T value) {
    if (place == value) return;
    hash_ -= part(number, place);
    hash_ += part(number, value);
    place = value;
  }

  std::array<std::uint64_t, kMostCells> cells_{};
  std::array<std::uint64_t, kMostNotes> notes_{};
  std::array<NodeId, kMostThreads> nodes_{};
  Hash hash_;
};

}  // namespace suimon::model
