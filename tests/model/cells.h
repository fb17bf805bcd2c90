// Which word of the table's region is which cell of a State.
//
// Words become cells in pairs of 16 bytes, when they are first touched. A cell is kept as what it
// differs from at the start, so that one that is touched late is 0 in all states before.
//
// Thread rule: one thread.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tests/model/state.h"

namespace suimon::model {

class Cells {
 public:
  // Requires that the region is as it will be at the start.
  explicit Cells(std::span<std::byte> region)
      : region_(region), of_word_(region.size() / 8, kNone) {}

  unsigned of(const void* word) {
    const std::size_t number = number_of(word);
    if (of_word_[number] == kNone) add(number & ~std::size_t{1});
    return of_word_[number];
  }
  std::uint64_t get(const State& state, unsigned cell) const {
    return state.cell(cell) ^ initial_[cell];
  }
  void set(State& state, unsigned cell, std::uint64_t value) const {
    state.set_cell(cell, value ^ initial_[cell]);
  }
  void* address(unsigned cell) const { return region_.data() + words_[cell] * 8; }

  // Steps on a cell that only one thread touches, or that nobody writes, need no interleaving:
  // nobody can tell when they happen. All cells count as such until a second thread shows that they
  // are not; true when this step did, and what was explored before must be explored again.
  bool becomes_shared(unsigned cell, unsigned thread, bool writes) {
    Use& use = uses_[cell];
    if (use.shared) return false;
    if (use.owner == kNone) use.owner = thread;
    use.many = use.many || use.owner != thread;
    use.written = use.written || writes;
    use.shared = use.many && use.written && !use.joined;
    return use.shared;
  }
  bool is_shared(unsigned cell) const { return uses_[cell].shared; }
  // Requires that nobody can tell, although several threads touch it.
  void join(const void* word) { uses_[of(word)].joined = true; }

 private:
  static constexpr unsigned kNone = ~0U;

  struct Use {
    unsigned owner = kNone;  // who touched it first
    bool many = false;
    bool written = false;
    bool shared = false;
    bool joined = false;
  };

  std::size_t number_of(const void* word) const {
    const auto offset = static_cast<const std::byte*>(word) - region_.data();
    assert(offset >= 0 && static_cast<std::size_t>(offset) < region_.size() && offset % 8 == 0);
    return static_cast<std::size_t>(offset) / 8;
  }
  void add(std::size_t number) {
    for (std::size_t i = number; i < number + 2; ++i) {
      assert(initial_.size() < kMostCells);
      std::uint64_t word;
      std::memcpy(&word, region_.data() + i * 8, 8);
      of_word_[i] = static_cast<unsigned>(initial_.size());
      initial_.push_back(word);
      words_.push_back(i);
      uses_.emplace_back();
    }
  }

  std::span<std::byte> region_;
  std::vector<unsigned> of_word_;
  std::vector<std::uint64_t> initial_;  // of each cell
  std::vector<std::size_t> words_;      // of each cell
  std::vector<Use> uses_;               // of each cell
};

}  // namespace suimon::model
