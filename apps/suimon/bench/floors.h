// What this machine itself costs: the floors that decisions are measured against.
//
// Every function runs `count` times and returns nanoseconds for one. Runs are short, so that floors
// and decisions can take turns and see the same machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "suimon/table/region.h"
#include "suimon/table/slot.h"

namespace suimon::app::measure {

// Nanoseconds for one of `count` calls of `work(i)`.
template <class Work>
double time_of(std::size_t count, Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < count; ++i) work(i);
  const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start;
  return passed.count() / static_cast<double>(count);
}

// Keeps the compiler from dropping what makes a value.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "g"(value) : "memory");
}

// A well mixed number: the finalizer of MurmurHash3, a permutation of 64 bits.
constexpr std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ x >> 33;
}

class Floors {
 public:
  // Memory of as many bytes as the table has, from the same source, all of it touched.
  explicit Floors(table::Region region);

  double clock(std::size_t count) const;  // reading CLOCK_BOOTTIME
  double cas16(std::size_t count);        // reading a slot and exchanging it, nobody else near
  double dram(std::size_t count);         // a read anywhere, whose place the one before it names
  static double contended_cas16(
      std::size_t count);  // two threads exchange one slot, until they did

 private:
  table::Region region_;
  table::Slot* slots_;
  std::size_t lines_;
  std::uint64_t at_ = 1;
};

}  // namespace suimon::app::measure
