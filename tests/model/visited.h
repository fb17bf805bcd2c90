// The states that were met already: a flat set of their hashes, 16 bytes each.
//
// Thread rule: one thread.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include "tests/model/hash.h"

namespace suimon::model {

// Zeroed memory in large pages where the system has them: each look goes to another page.
class HugeArray {
 public:
  explicit HugeArray(std::size_t size) : size_(size) {
    void* const at = ::mmap(nullptr, size * sizeof(Hash), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    ::madvise(at, size * sizeof(Hash), MADV_HUGEPAGE);
    first_ = static_cast<Hash*>(at);
  }
  ~HugeArray() { ::munmap(first_, size_ * sizeof(Hash)); }
  HugeArray(const HugeArray&) = delete;
  HugeArray& operator=(const HugeArray&) = delete;

  std::span<Hash> all() const { return {first_, size_}; }
  void swap(HugeArray& other) {
    std::swap(first_, other.first_);
    std::swap(size_, other.size_);
  }

 private:
  Hash* first_;
  std::size_t size_;
};

class Visited {
 public:
  // False when it is there already.
  bool insert(Hash hash) {
    if (hash == Hash{}) hash.a = 1;
    if (size_ * 4 >= places_.all().size() * 3) grow();
    Hash& place = find(places_.all(), hash);
    if (place == hash) return false;
    place = hash;
    ++size_;
    return true;
  }
  std::size_t size() const { return size_; }

 private:
  static Hash& find(std::span<Hash> places, const Hash& hash) {
    const std::size_t mask = places.size() - 1;
    std::size_t i = hash.a & mask;
    while (!(places[i] == hash) && !(places[i] == Hash{})) i = (i + 1) & mask;
    return places[i];
  }
  void grow() {
    HugeArray larger(places_.all().size() * 2);
    for (const Hash& hash : places_.all()) {
      if (!(hash == Hash{})) find(larger.all(), hash) = hash;
    }
    places_.swap(larger);
  }

  HugeArray places_{1024};
  std::size_t size_ = 0;
};

}  // namespace suimon::model
