// Two threads at once.
#pragma once

#include <sched.h>

#include <atomic>
#include <thread>

#include "apps/suimon/bench/floors.h"

namespace suimon::app::measure {

// Keeps the calling thread on one processor of those it may use: the first or the second.
inline void stay_on(unsigned which) {
  cpu_set_t may;
  cpu_set_t one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof may, &may) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &may) || which-- != 0) continue;
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

// Runs `work(thread)` in two threads that begin together, on two processors if there are two;
// nanoseconds for one of `count` in each.
template <class Work>
double time_of_two(std::size_t count, Work&& work) {
  std::atomic<int> here{0};
  double passed[2] = {0, 0};
  const auto run = [&](unsigned thread) {
    stay_on(thread);
    here.fetch_add(1);
    while (here.load() < 2) {
    }
    passed[thread] = time_of(count, [&](std::size_t) { work(thread); });
  };
  std::thread one(run, 0);
  std::thread other(run, 1);
  one.join();
  other.join();
  return (passed[0] + passed[1]) / 2;
}

}  // namespace suimon::app::measure
