// A vector of at most N elements that lie in the object itself: no allocation, and only the
// elements that are there are constructed, or copied. For trivially destructible types; those that
// are trivially copyable, too, make a vector that can be copied.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstring>
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
  InlineVector(const InlineVector& other)
    requires std::is_trivially_copyable_v<T>
      : size_(other.size_) {
    std::memcpy(bytes_, other.bytes_, size_ * sizeof(T));
  }
  InlineVector& operator=(const InlineVector& other)
    requires std::is_trivially_copyable_v<T>
  {
    if (this == &other) return *this;
    size_ = other.size_;
    std::memcpy(bytes_, other.bytes_, size_ * sizeof(T));
    return *this;
  }

  // Requires size() < N.
  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    assert(size_ < N);
    return *std::construct_at(data() + size_++, std::forward<Arguments>(arguments)...);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  std::span<T> all() { return {data(), size_}; }
  T* data() { return reinterpret_cast<T*>(bytes_); }
  const T* data() const { return reinterpret_cast<const T*>(bytes_); }

 private:
  std::size_t size_ = 0;
  alignas(T) std::byte bytes_[N * sizeof(T)];
};

}  // namespace suimon
