#include "suimon/observe/line_budget.h"

#include <algorithm>

namespace suimon {

bool LineBudget::admit(std::int64_t second, ShapeNumber limit) {
  if (second > second_) {
    limits_before_ = second - 1 == second_ ? limits_now_ : 0;
    limits_now_ = admitted_ = 0;
    second_ = second;
  }
  Asked& asked = (*limits_)[limit];
  if (asked.second != second_) {
    asked = {second_, 0};
    ++limits_now_;
  }
  const std::uint64_t share = std::max<std::uint64_t>(
      1, per_second_ / std::max<std::uint64_t>(1, std::max(limits_now_, limits_before_)));
  const std::uint64_t kept = asked.admitted == 0 ? 0 : per_second_ / 10;
  if (admitted_ >= per_second_ - kept || asked.admitted >= share) return false;
  ++asked.admitted;
  ++admitted_;
  return true;
}

}  // namespace suimon
