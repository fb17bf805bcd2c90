// The atomic steps of the table on this machine, and how it names its threads.
//
// The table is a template over these steps: tests run the same code over steps that a scheduler
// interleaves. Everything that two threads may touch at once goes through here, through nothing
// else.
//
// x86-64: 16 bytes move by CMPXCHG16B (compile with -mcx16). An aligned 16-byte load is atomic
// where there is AVX (Intel SDM vol. 3A, 9.1.1; AMD says the same); elsewhere, and under the thread
// sanitizer, which does not see inline assembly, a CAS that changes nothing reads.
#pragma once

#include <cstdint>

#include "suimon/table/layout.h"
#include "suimon/table/slot.h"

namespace suimon::table {

// Whether aligned 16-byte loads are atomic here. Read once, at start.
extern const bool kWideLoads;

struct RealSteps {
  static constexpr unsigned kSlotsInLine = 4;  // of 16 bytes: a cache line
  static constexpr unsigned kPatience = 100;   // pauses before a rival's claim is broken

  static std::uint64_t load(const std::uint64_t& word) {
    return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
  }
  static void store(std::uint64_t& word, std::uint64_t value) {
    __atomic_store_n(&word, value, __ATOMIC_RELEASE);
  }
  static bool cas(std::uint64_t& word, std::uint64_t expected, std::uint64_t desired) {
    return __atomic_compare_exchange_n(&word, &expected, desired, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
  }

  static bool cas(Slot& slot, const Slot& expected, const Slot& desired) {
    return __sync_bool_compare_and_swap(reinterpret_cast<Wide*>(&slot), wide(expected),
                                        wide(desired));
  }
  static Slot load(Slot& slot) {
#if !defined(__SANITIZE_THREAD__)
    if (kWideLoads) [[likely]] {
      Vector loaded;
      asm volatile("movdqa %1, %0"
                   : "=x"(loaded)
                   : "m"(*reinterpret_cast<Vector*>(&slot))
                   : "memory");
      return {static_cast<std::uint64_t>(loaded[0]), static_cast<std::uint64_t>(loaded[1])};
    }
#endif
    const Wide now = __sync_val_compare_and_swap(reinterpret_cast<Wide*>(&slot), Wide{0}, Wide{0});
    return {static_cast<std::uint64_t>(now), static_cast<std::uint64_t>(now >> 64)};
  }

  static void pause() { __builtin_ia32_pause(); }
  // For who waits until others have done: their threads may need this processor.
  static void yield();
  // Waits a little longer each time, and each thread differently: two that broke each other's
  // claims do not meet again.
  static void back_off(unsigned attempt);

  static void prefetch(const void* line) { __builtin_prefetch(line, 0); }
  static void prefetch_to_write(const void* line) {
    // By hand, because the compiler writes a plain prefetch for x86-64 as such. Where the
    // instruction is missing it does nothing.
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
  }

  // Keeps a pointer as such, instead of the several values that it was computed from.
  static void keep(Slot*& pointer) { asm("" : "+r"(pointer)); }

  // A small number that no other living thread of this process has.
  static unsigned thread() {
    if (number == kNoNumber) [[unlikely]]
      enroll();
    return number;
  }

  // A number that no insertion of this table has ever had.
  static std::uint64_t nonce(Shard* shards) {
    const unsigned shard = thread() % kShards;
    return __atomic_fetch_add(&shards[shard].nonces, 1, __ATOMIC_RELAXED) * kShards + shard;
  }
  // Adds to a figure: of this thread's shard, so that threads do not meet.
  static void count(Shard* shards, std::uint64_t Shard::* figure, std::uint64_t by) {
    __atomic_fetch_add(&(shards[thread() % kShards].*figure), by, __ATOMIC_RELAXED);
  }

  // Who holds a descriptor: this process and thread; never 0. And whether its process has ended.
  static std::uint64_t self() {
    return std::uint64_t{process_number} << 32 | (std::uint64_t{thread()} + 1);
  }
  // `of_this_process`: nobody else can hold anything here, so another process's holder is one that
  // a fork copied.
  static bool is_gone(std::uint64_t holder, bool of_this_process);

 private:
  __extension__ typedef unsigned __int128 Wide __attribute__((may_alias));
  typedef long long Vector __attribute__((vector_size(16), may_alias));

  static Wide wide(const Slot& slot) { return static_cast<Wide>(slot.word) << 64 | slot.id; }

  // The smallest number that is free, from a thread's first need to its end. From then on it has
  // one that nobody owns anything by: destructors of other thread-local objects may still decide.
  static constexpr unsigned kNoNumber = ~0U;
  static constexpr unsigned kEnded = kNoNumber - 1;
  struct Enrolled;
  static void enroll();
  static inline thread_local constinit unsigned number = kNoNumber;
  static std::uint32_t process_number;  // a forked child corrects it
};

}  // namespace suimon::table
