// A queue of fixed size from one thread to another, without a lock and without a system call.
//
// Thread rule: claim() and publish() by one thread, front() and pop() by one other. Each call O(1).
// Elements are filled and read where they lie and are never destroyed in between.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>

namespace suimon {

template <class T>
class Ring {
 public:
  // Room for at least `most` elements.
  explicit Ring(std::size_t most)
      : mask_(std::bit_ceil(most) - 1), places_(std::make_unique<T[]>(mask_ + 1)) {}

  std::size_t capacity() const { return mask_ + 1; }

  // The place for the next element, which is still hidden from the reader; null when all are taken.
  T* claim() {
    if (written_ - seen_read_ > mask_) {
      seen_read_ = read_.load(std::memory_order_acquire);
      if (written_ - seen_read_ > mask_) return nullptr;
    }
    return &places_[written_ & mask_];
  }
  // Shows the claimed element to the reader.
  void publish() { shown_.store(++written_, std::memory_order_release); }

  // The oldest element; null when there is none.
  const T* front() const {
    const std::size_t at = read_.load(std::memory_order_relaxed);
    return at == shown_.load(std::memory_order_acquire) ? nullptr : &places_[at & mask_];
  }
  // Gives the place of the oldest element back. Requires that front() found it.
  void pop() { read_.store(read_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

 private:
  static constexpr std::size_t kLine = 64;  // what two threads write lies on lines of their own

  const std::size_t mask_;
  const std::unique_ptr<T[]> places_;
  alignas(kLine) std::atomic<std::size_t> shown_{0};
  std::size_t written_ = 0;    // the writer's own copy of shown_
  std::size_t seen_read_ = 0;  // read_ as the writer last saw it
  alignas(kLine) std::atomic<std::size_t> read_{0};
};

}  // namespace suimon
