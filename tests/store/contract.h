// The registered stores, each under the contract of suimon/store/store.h.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "suimon/base/siphash.h"
#include "tests/store/subjects.h"

namespace suimon::test {

class StoreContract : public testing::TestWithParam<std::string> {
 protected:
  std::string bounded(std::uint64_t max_keys) const {
    return GetParam() + "?max_keys=" + std::to_string(max_keys);
  }
};

inline std::vector<std::string> store_urls() {
  std::vector<std::string> urls;
  for (const StoreKind& kind : registered_stores())
    urls.push_back(std::string(kind.scheme) + "://");
  return urls;
}

inline constexpr Key kA{1, 1};
inline constexpr Key kB{2, 2};

// Keys as a hash makes them: every bit varies.
inline Key key_number(std::uint64_t n) {
  const Hash128 hash =
      siphash128<1, 3>(SipKey{1, 2}, {reinterpret_cast<const char*>(&n), sizeof n});
  return {hash.high, hash.low};
}

}  // namespace suimon::test
