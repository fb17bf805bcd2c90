// Threads that meet, for tests of races.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace suimon::test {

// All threads leave it together. Nobody sleeps: who wakes up late would miss the race. They yield,
// because there may be more threads than cores.
class Barrier {
 public:
  explicit Barrier(unsigned threads) : threads_(threads) {}

  void wait() {
    const std::uint64_t turn = turn_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      turn_.fetch_add(1, std::memory_order_acq_rel);
      return;
    }
    for (unsigned spins = 0; turn_.load(std::memory_order_acquire) == turn; ++spins) {
      if (spins % 64 == 63) sched_yield();
    }
  }

 private:
  const unsigned threads_;
  std::atomic<unsigned> arrived_{0};
  std::atomic<std::uint64_t> turn_{0};
};

// Runs work(number) in as many threads, to its end.
template <class Work>
void in_threads(unsigned threads, const Work& work) {
  std::vector<std::thread> running;
  for (unsigned i = 0; i < threads; ++i) running.emplace_back([&work, i] { work(i); });
  for (std::thread& thread : running) thread.join();
}

// Runs work(number, round) in all threads, who meet before every round.
template <class Work>
void in_rounds(unsigned threads, std::uint64_t rounds, const Work& work) {
  Barrier barrier(threads);
  in_threads(threads, [&](unsigned number) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      barrier.wait();
      work(number, round);
    }
  });
}

}  // namespace suimon::test
