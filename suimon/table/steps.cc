#include "suimon/table/steps.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace suimon::table {
namespace {

unsigned next_thread_number() {
  static std::atomic<unsigned> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

const bool kWideLoads = __builtin_cpu_supports("avx") != 0;

thread_local const unsigned RealSteps::thread_number = next_thread_number();

std::uint32_t RealSteps::process_number = [] {
  // Asking the system each time would cost more than the decision.
  pthread_atfork(nullptr, nullptr, [] { process_number = static_cast<std::uint32_t>(::getpid()); });
  return static_cast<std::uint32_t>(::getpid());
}();

void RealSteps::back_off(unsigned attempt) {
  const unsigned longest = 16U << std::min(attempt, 8U);
  const unsigned turns = (thread() * 2654435761U + attempt * 40503U) % longest;
  for (unsigned i = 0; i < turns; ++i) pause();
}

bool RealSteps::is_gone(std::uint64_t holder) {
  const auto process = static_cast<pid_t>(holder >> 32);
  return process != static_cast<pid_t>(process_number) && ::kill(process, 0) != 0 && errno == ESRCH;
}

}  // namespace suimon::table
