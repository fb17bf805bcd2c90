// From a client's attributes to the Key under which its state is kept.
//
// Identity is a keyed hash under a secret that lives outside every table and store, so state
// names nobody: it is pseudonymous (whoever holds the secret can try values), not anonymous.
// Each limit hashes under its own derived key, so the same client has unrelated keys in two limits,
// but for the twelve bits of its place (LimitHash). Thread rule: values and pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "suimon/base/siphash.h"
#include "suimon/core/charge.h"

namespace suimon {

// The secret under which all hashes are keyed.
struct Secret {
  SipKey key;
  friend bool operator==(const Secret& a, const Secret& b) {
    return a.key.k0 == b.key.k0 && a.key.k1 == b.key.k1;
  }
};

// Under which secrets clients are known: under one; or, while another replaces it, under two.
struct Hashing {
  Secret secret;
  Rekey rekey = Rekey::none;
  Secret other{};  // the one that comes (accept) or goes (move)
};

// A secret that nobody else has, from the system's random source.
Secret random_secret();

// The key for one purpose ("table", later "log" and others) and one name, derived from the secret.
SipKey derive(const Secret& secret, std::string_view purpose, std::string_view name);

// Appends one part of a composite key: its length, then its bytes. The encoding is injective, so
// ("aa", "b") and ("a", "ab") never meet.
void append_part(std::string& encoded, std::string_view part);

// The Key of encoded parts under a limit's derived key. Source: SipHash-2-4 with 128 bits, the
// conservative form, because keys leave the process: to stores, the event log and whoever asks.
inline Key key_of(const SipKey& limit_key, std::string_view encoded) {
  const Hash128 hash = siphash128<2, 4>(limit_key, encoded);
  return {hash.high, hash.low};
}

// Twelve bits of a key, the lowest of its higher half, say where among shards its state lies.
inline constexpr unsigned kPlaceBits = 12;
inline std::uint64_t place_of(const Key& key) { return key.high & ((1U << kPlaceBits) - 1); }

// Under what a limit hashes its clients: under a key of its own, and their place under one that all
// limits share. So a client has one place in all limits that tell clients by the same values, and
// what charges several of them together finds them in one shard.
struct LimitHash {
  SipKey own;
  SipKey place;
};
LimitHash derive_limit(const Secret& secret, std::string_view name);

inline Key key_of(const LimitHash& limit, std::string_view encoded) {
  constexpr std::uint64_t kPlace = (1U << kPlaceBits) - 1;
  Key key = key_of(limit.own, encoded);
  key.high = (key.high & ~kPlace) | (siphash64<2, 4>(limit.place, encoded) & kPlace);
  return key;
}

// The same with 64 bits and no place, in less time (SipHash-1-3), for keys that meet only each
// other, in one table: of ten million of them two are taken for one with a probability of 3 in a
// million. Every bit is used once: the table finds a key by the lower half and tells it by the 48
// highest bits of the other.
[[gnu::always_inline]] inline Key short_key_of(const SipKey& limit_key, std::string_view encoded) {
  const std::uint64_t hash = siphash64<1, 3>(limit_key, encoded);
  return {hash << 16, hash};
}

}  // namespace suimon
