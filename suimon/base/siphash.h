// SipHash with a 128-bit result: a pseudo-random function of short messages under a secret key.
// Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012), with the 128-bit
// variant of the authors' reference. 2-4 is the conservative form, 1-3 the fast one (as in Rust's
// and Python's hash tables).
// Thread rule: pure functions. Complexity: O(length).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace suimon {

struct Hash128 {
  std::uint64_t low = 0;   // the first eight bytes of the reference's output, little-endian
  std::uint64_t high = 0;  // the second eight
  friend constexpr bool operator==(const Hash128&, const Hash128&) = default;
};

struct SipKey {
  std::uint64_t k0 = 0;
  std::uint64_t k1 = 0;
};

namespace detail {

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
};

inline std::uint64_t load_le64(const char* bytes) {
  static_assert(std::endian::native == std::endian::little, "byte order of this machine");
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

}  // namespace detail

template <int kCompress, int kFinish>
Hash128 siphash128(const SipKey& key, std::string_view message) {
  detail::SipState s{0x736f6d6570736575ULL ^ key.k0, 0x646f72616e646f6dULL ^ key.k1 ^ 0xee,
                     0x6c7967656e657261ULL ^ key.k0, 0x7465646279746573ULL ^ key.k1};
  const char* at = message.data();
  const char* const whole = at + (message.size() & ~std::size_t{7});
  for (; at != whole; at += 8) {
    const std::uint64_t word = detail::load_le64(at);
    s.v3 ^= word;
    for (int i = 0; i < kCompress; ++i) s.round();
    s.v0 ^= word;
  }
  std::uint64_t last = static_cast<std::uint64_t>(message.size()) << 56;
  for (std::size_t i = 0; i < (message.size() & 7); ++i) {
    last |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  }
  s.v3 ^= last;
  for (int i = 0; i < kCompress; ++i) s.round();
  s.v0 ^= last;
  s.v2 ^= 0xee;
  for (int i = 0; i < kFinish; ++i) s.round();
  Hash128 hash;
  hash.low = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
  s.v1 ^= 0xdd;
  for (int i = 0; i < kFinish; ++i) s.round();
  hash.high = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
  return hash;
}

}  // namespace suimon
