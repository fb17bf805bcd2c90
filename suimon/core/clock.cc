#include <ctime>

#include "suimon/time.h"

namespace suimon {

Instant boot_now() noexcept {
  timespec reading{};
  ::clock_gettime(CLOCK_BOOTTIME, &reading);
  return Instant(std::chrono::seconds(reading.tv_sec) + Duration(reading.tv_nsec));
}

}  // namespace suimon
