#include "suimon/table/region.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace suimon::table {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

Result<Region> Region::make(std::size_t bytes, bool shared) {
  // A huge page more than needed, of which the part before the first boundary is given back.
  const int flags = MAP_ANONYMOUS | MAP_NORESERVE | (shared ? MAP_SHARED : MAP_PRIVATE);
  void* const whole = ::mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (whole == MAP_FAILED) {
    return failure("no memory for a table of " + std::to_string(bytes >> 20) +
                   " MiB: " + std::strerror(errno) + "; ask for fewer keys");
  }
  const auto start = reinterpret_cast<std::uintptr_t>(whole);
  const std::uintptr_t aligned = (start + kHugePage - 1) / kHugePage * kHugePage;
  if (aligned != start) ::munmap(whole, aligned - start);
  const std::uintptr_t end = start + bytes + kHugePage;
  const std::uintptr_t used = aligned + (bytes + 4095) / 4096 * 4096;
  if (used < end) ::munmap(reinterpret_cast<void*>(used), end - used);
  auto* const data = reinterpret_cast<std::byte*>(aligned);
  // Fewer misses of the TLB where the table is large; a small one would only grow.
  if (bytes >= 8 * kHugePage) ::madvise(data, bytes, MADV_HUGEPAGE);
  return Region(data, bytes);
}

Region::~Region() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

Region::Region(Region&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Region& Region::operator=(Region&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace suimon::table
