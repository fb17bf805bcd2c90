// A vector of at most N elements that lie in the object itself: no allocation, and only the
// elements that are there are constructed. For trivially destructible types.
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace suimon {

template <class T, std::size_t N>
class InlineVector {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  InlineVector() = default;
  InlineVector(const InlineVector&) = delete;
  InlineVector& operator=(const InlineVector&) = delete;

  // Requires size() < N.
  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    assert(size_ < N);
    return *std::construct_at(data() + size_++, std::forward<Arguments>(arguments)...);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  std::span<T> all() { return {data(), size_}; }

 private:
  T* data() { return reinterpret_cast<T*>(bytes_); }

  std::size_t size_ = 0;
  alignas(T) std::byte bytes_[N * sizeof(T)];
};

}  // namespace suimon
