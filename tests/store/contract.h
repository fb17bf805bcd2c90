// The registered stores, each under the contract of suimon/store/store.h.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/store/subjects.h"

namespace suimon::test {

class StoreContract : public testing::TestWithParam<std::string> {
 protected:
  std::string bounded(std::uint64_t max_keys) const {
    return GetParam() + "?max_keys=" + std::to_string(max_keys);
  }
};

// How late a store may be with a limit: 0 where it keeps exact ledgers or the limit's word is
// exact, else the two units of class V, in whole nanoseconds, and one for the rate's own rounding.
inline std::int64_t lateness_of(const std::string& url, const Limit& limit, std::int64_t elapsed) {
  const detail::Scale word = detail::word_scale(limit);
  const bool exact = url.starts_with("reference") || url.starts_with("redis");
  if (exact || word.shift == 0) return 0;
  const std::uint64_t units = (std::uint64_t{2} << word.shift) / word.scale;
  return static_cast<std::int64_t>(units + static_cast<std::uint64_t>(elapsed) / word.scale) + 2;
}

}  // namespace suimon::test
