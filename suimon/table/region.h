// Memory for a table: anonymous, zeroed, aligned so that the system can use huge pages.
#pragma once

#include <cstddef>
#include <span>

#include "suimon/result.h"

namespace suimon::table {

class Region {
 public:
  // `shared`: processes forked later see the same memory. Only what is touched takes memory.
  static Result<Region> make(std::size_t bytes, bool shared);
  ~Region();
  Region(Region&& other) noexcept;
  Region& operator=(Region&& other) noexcept;

  std::byte* data() const { return data_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  Region(std::byte* data, std::size_t size) : data_(data), size_(size) {}

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace suimon::table
