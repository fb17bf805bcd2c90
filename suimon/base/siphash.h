// SipHash: a pseudo-random function of short messages under a secret key.
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

inline std::uint64_t load_le64(const char* bytes) {
  static_assert(std::endian::native == std::endian::little, "byte order of this machine");
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  SipState(const SipKey& key, std::uint64_t variant)
      : v0(0x736f6d6570736575ULL ^ key.k0),
        v1(0x646f72616e646f6dULL ^ key.k1 ^ variant),
        v2(0x6c7967656e657261ULL ^ key.k0),
        v3(0x7465646279746573ULL ^ key.k1) {}

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
  // Unrolled: the rounds are one chain of dependences, and a loop would only lengthen it.
  template <int kRounds>
  void rounds() {
    round();
    if constexpr (kRounds > 1) rounds<kRounds - 1>();
  }
  std::uint64_t sum() const { return v0 ^ v1 ^ v2 ^ v3; }

  template <int kCompress>
  void take(std::uint64_t word) {
    v3 ^= word;
    rounds<kCompress>();
    v0 ^= word;
  }
  template <int kCompress>
  void absorb(std::string_view message) {
    const char* at = message.data();
    const char* const whole = at + (message.size() & ~std::size_t{7});
    for (; at != whole; at += 8) take<kCompress>(load_le64(at));
    std::uint64_t last = static_cast<std::uint64_t>(message.size()) << 56;
    for (std::size_t i = 0; i < (message.size() & 7); ++i) {
      last |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
    }
    take<kCompress>(last);
  }
};

}  // namespace detail

// 128 bits: for identities that are kept, sent or compared with others.
template <int kCompress, int kFinish>
Hash128 siphash128(const SipKey& key, std::string_view message) {
  detail::SipState s(key, 0xee);
  s.absorb<kCompress>(message);
  s.v2 ^= 0xee;
  s.rounds<kFinish>();
  Hash128 hash;
  hash.low = s.sum();
  s.v1 ^= 0xdd;
  s.rounds<kFinish>();
  hash.high = s.sum();
  return hash;
}

// 64 bits, in two thirds of the time. Always inline: it is a good part of a decision.
template <int kCompress, int kFinish>
[[gnu::always_inline]] inline std::uint64_t siphash64(const SipKey& key, std::string_view message) {
  detail::SipState s(key, 0);
  s.absorb<kCompress>(message);
  s.v2 ^= 0xff;
  s.rounds<kFinish>();
  return s.sum();
}

}  // namespace suimon
