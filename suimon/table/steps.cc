#include "suimon/table/steps.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <vector>

namespace suimon::table {
namespace {

// Which numbers living threads have. Never destroyed: threads may end after the program's statics.
struct Numbers {
  std::mutex mutex;
  std::vector<bool> taken;

  static Numbers& instance() {
    static Numbers& numbers = *new Numbers;
    return numbers;
  }
};

}  // namespace

const bool kWideLoads = __builtin_cpu_supports("avx") != 0;

struct RealSteps::Enrolled {
  Enrolled() {
    Numbers& numbers = Numbers::instance();
    const std::lock_guard lock(numbers.mutex);
    const auto free = std::find(numbers.taken.begin(), numbers.taken.end(), false);
    number = static_cast<unsigned>(free - numbers.taken.begin());
    if (free == numbers.taken.end()) numbers.taken.push_back(false);
    numbers.taken[number] = true;
  }
  ~Enrolled() {
    Numbers& numbers = Numbers::instance();
    const std::lock_guard lock(numbers.mutex);
    numbers.taken[number] = false;
    number = kEnded;
  }
};

void RealSteps::enroll() { static thread_local const Enrolled enrolled; }

// NOLINTNEXTLINE(cert-err58-cpp): nothing runs yet that could be told
std::uint32_t RealSteps::process_number = []() noexcept {
  // Asking the system each time would cost more than the decision.
  // And no child must find the numbers locked by a thread that it does not have.
  pthread_atfork([] { Numbers::instance().mutex.lock(); },
                 [] { Numbers::instance().mutex.unlock(); },
                 [] {
                   Numbers::instance().mutex.unlock();
                   process_number = static_cast<std::uint32_t>(::getpid());
                 });
  return static_cast<std::uint32_t>(::getpid());
}();

void RealSteps::yield() { ::sched_yield(); }

void RealSteps::back_off(unsigned attempt) {
  const unsigned longest = 16U << std::min(attempt, 8U);
  const unsigned turns = (thread() * 2654435761U + attempt * 40503U) % longest;
  for (unsigned i = 0; i < turns; ++i) pause();
}

bool RealSteps::is_gone(std::uint64_t holder, bool of_this_process) {
  const auto process = static_cast<pid_t>(holder >> 32);
  if (process == static_cast<pid_t>(process_number)) return false;
  return of_this_process || (::kill(process, 0) != 0 && errno == ESRCH);
}

}  // namespace suimon::table
