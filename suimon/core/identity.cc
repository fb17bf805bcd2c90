#include "suimon/core/identity.h"

#include <sys/random.h>

#include <cstdio>
#include <cstdlib>

namespace suimon {

Secret random_secret() {
  Secret secret;
  // Up to 256 bytes getrandom either fills the whole buffer or fails, and it cannot fail here
  // except on kernels that lack it.
  if (::getrandom(&secret.key, sizeof secret.key, 0) != static_cast<ssize_t>(sizeof secret.key)) {
    std::fputs("suimon: the system's random source does not answer\n", stderr);
    std::abort();
  }
  return secret;
}

SipKey derive(const Secret& secret, std::string_view purpose, std::string_view name) {
  std::string message;
  append_part(message, purpose);
  append_part(message, name);
  const Hash128 hash = siphash128<2, 4>(secret.key, message);
  return {hash.low, hash.high};
}

LimitHash derive_limit(const Secret& secret, std::string_view name) {
  return {.own = derive(secret, "table", name), .place = derive(secret, "place", "")};
}

void append_part(std::string& encoded, std::string_view part) {
  const auto length = static_cast<std::uint64_t>(part.size());
  encoded.append(reinterpret_cast<const char*>(&length), sizeof length);
  encoded.append(part);
}

}  // namespace suimon
