// Hashes of 128 bits, by which the model tells states apart: among 2^26 of them two are the same by
// chance once in 2^76 runs.
//
// Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace suimon::model {

struct Hash {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  friend constexpr bool operator==(const Hash&, const Hash&) = default;
  // Sums, so that a part can be taken away again.
  constexpr Hash& operator+=(const Hash& other) {
    a += other.a;
    b += other.b;
    return *this;
  }
  constexpr Hash& operator-=(const Hash& other) {
    a -= other.a;
    b -= other.b;
    return *this;
  }
};

// A permutation of 64 bits (the finalizer of MurmurHash3).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ x >> 33;
}

// The part that a state's element `number` has in its hash, when it has this value.
constexpr Hash part(std::uint64_t number, std::uint64_t value) {
  const std::uint64_t a = mixed(value + number * 0x9e3779b97f4a7c15ULL);
  return {a, mixed(a ^ (number + 1) * 0xd6e8feb86659fd93ULL)};
}

// The hash of bytes, of words: a multiple of eight.
class Digest {
 public:
  void add(std::uint64_t word) {
    hash_.a = (hash_.a ^ word) * 0x9fb21c651e98df25ULL;
    hash_.a ^= hash_.a >> 29;
    hash_.b = ((hash_.b << 23 | hash_.b >> 41) + word) * 0xd6e8feb86659fd93ULL;
    hash_.b ^= hash_.b >> 32;
  }
  void add(std::span<const std::byte> words) {
    for (std::size_t i = 0; i + 8 <= words.size(); i += 8) {
      std::uint64_t word;
      std::memcpy(&word, words.data() + i, 8);
      add(word);
    }
  }
  Hash hash() const { return {mixed(hash_.a), mixed(hash_.b)}; }

 private:
  Hash hash_{0x243f6a8885a308d3ULL, 0x13198a2e03707344ULL};
};

}  // namespace suimon::model
