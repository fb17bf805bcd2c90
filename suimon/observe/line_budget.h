// Which lines of a log are written when more come than may be: the first ones of each second, and
// of each limit no more than its share, so that one limit under attack does not hide the others.
//
// A limit's share is the budget divided by the number of limits that have asked in this second or
// did in the one before, whichever is more. A tenth of the budget is kept for the first line of
// each limit in a second.
//
// Thread rule: one thread. Each call O(1); 256 KiB, which are touched as limits ask.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "suimon/core/shapes.h"

namespace suimon {

class LineBudget {
 public:
  explicit LineBudget(std::uint64_t per_second)
      : per_second_(per_second), limits_(std::make_unique<std::array<Asked, Shapes::kMost>>()) {}

  // Whether a line of `limit` may be written in `second`, counted from anywhere. A second that is
  // over counts as the newest, so that a late line never goes beyond the budget.
  bool admit(std::int64_t second, ShapeNumber limit);

 private:
  struct Asked {
    std::int64_t second = INT64_MIN;
    std::uint64_t admitted = 0;
  };

  const std::uint64_t per_second_;
  std::unique_ptr<std::array<Asked, Shapes::kMost>> limits_;
  std::int64_t second_ = INT64_MIN + 1;
  std::uint64_t admitted_ = 0;       // in this second
  std::uint64_t limits_now_ = 0;     // that asked in this second
  std::uint64_t limits_before_ = 0;  // that asked in the second before it
};

}  // namespace suimon
