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
  const std::size_t past = reinterpret_cast<std::uintptr_t>(whole) % kHugePage;
  const std::size_t before = past == 0 ? 0 : kHugePage - past;
  const std::size_t used = before + (bytes + 4095) / 4096 * 4096;
  auto* const first = static_cast<std::byte*>(whole);
  auto* const data = first + before;
  if (before != 0) ::munmap(first, before);
  if (used < bytes + kHugePage) ::munmap(first + used, bytes + kHugePage - used);
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
