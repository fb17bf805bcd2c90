// Objects that are used again and again: after the first rounds, taking one allocates nothing.
//
// Thread rule: one thread. A pool holds as many objects as were ever out at once.
#pragma once

#include <memory>
#include <vector>

namespace suimon {

template <class T>
class Pool {
 public:
  // An object as its last user left it.
  T& take() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<T>());
      free_.reserve(all_.size());  // so that giving back never allocates
      return *all_.back();
    }
    T* object = free_.back();
    free_.pop_back();
    return *object;
  }

  // Requires an object that take() has given.
  void give_back(T& object) { free_.push_back(&object); }

 private:
  std::vector<std::unique_ptr<T>> all_;
  std::vector<T*> free_;
};

}  // namespace suimon
