// The password of the Redis protocol's door, kept as a hash and compared in constant time.
//
// Thread rule: immutable; any thread.
#pragma once

#include <string_view>

#include "suimon/core/identity.h"

namespace suimon::door {

class RespPassword {
 public:
  static constexpr std::size_t kLongest = 4096;

  // None: everybody may ask.
  RespPassword() = default;
  // Requires text that is not empty.
  explicit RespPassword(std::string_view text)
      : key_(random_secret().key), hash_(siphash128<2, 4>(key_, text)), needed_(true) {}

  bool needed() const { return needed_; }
  bool matches(std::string_view text) const {
    const Hash128 hash = siphash128<2, 4>(key_, text);
    return ((hash.high ^ hash_.high) | (hash.low ^ hash_.low)) == 0;
  }

 private:
  SipKey key_;
  Hash128 hash_;
  bool needed_ = false;
};

}  // namespace suimon::door
