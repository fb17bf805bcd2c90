#include "suimon/net/loop.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace suimon::net {
namespace {

constexpr std::size_t kScratchBytes = 64 << 10;

Fd opened(int fd, const char* what) {
  if (fd < 0) {
    std::fprintf(stderr, "suimon: the system refuses %s: %s\n", what, std::strerror(errno));
    std::_Exit(1);
  }
  return Fd(fd);
}

}  // namespace

Loop::Loop(const Clock& clock)
    : clock_(clock),
      now_(clock.now()),
      epoll_(opened(epoll_create1(EPOLL_CLOEXEC), "an epoll instance")),
      scratch_(kScratchBytes) {
  waker_.fd = opened(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "an eventfd");
  if (!watch(waker_.fd.get(), EPOLLIN, &waker_)) opened(-1, "to watch an eventfd");
}

Loop::~Loop() = default;

void Loop::Waker::on_ready(std::uint32_t) {
  std::uint64_t count = 0;
  // Non-blocking; when another wake-up has emptied it already there is nothing to do.
  [[maybe_unused]] const auto got = ::read(fd.get(), &count, sizeof count);
}

void Loop::run() {
  while (!stopped_.load(std::memory_order_acquire)) poll_once(-1);
}

void Loop::stop() {
  stopped_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto put = ::write(waker_.fd.get(), &one, sizeof one);
}

int Loop::wait_ms(int max_wait_ms) const {
  const auto next = timers_.next();
  if (!next) return max_wait_ms;
  const Duration left = *next - clock_.now();
  if (left <= Duration::zero()) return 0;
  // Rounded up: a wait that is too short would end in a second, useless wake-up.
  const auto ms =
      std::chrono::ceil<std::chrono::milliseconds>(std::min<Duration>(left, std::chrono::hours(1)));
  const int wait = static_cast<int>(ms.count());
  return max_wait_ms < 0 ? wait : std::min(wait, max_wait_ms);
}

void Loop::poll_once(int max_wait_ms) {
  const int wait = wait_ms(max_wait_ms);
  event_count_ = epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), wait);
  now_ = clock_.now();
  ++wake_number_;
  awake_ = true;
  for (event_at_ = 0; event_at_ < event_count_;) {
    // Step on first: unwatch() clears only what is still to come.
    const epoll_event& event = events_[static_cast<std::size_t>(event_at_++)];
    if (event.data.ptr != nullptr) static_cast<Watcher*>(event.data.ptr)->on_ready(event.events);
  }
  event_count_ = 0;
  run_posted();
  timers_.fire(now_);
  for (const auto& hook : hooks_) hook();
  awake_ = false;
  retired_.clear();
}

bool Loop::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (posted_.size() >= kMaxPosted) return false;
    posted_.push_back(std::move(work));
    if (posted_.size() > 1) return true;  // whoever posted the first one has woken the loop
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto put = ::write(waker_.fd.get(), &one, sizeof one);
  return true;
}

void Loop::run_posted() {
  {
    const std::lock_guard lock(mutex_);
    if (posted_.empty()) return;
    running_.swap(posted_);
  }
  for (auto& work : running_) work();
  running_.clear();
}

bool Loop::watch(int fd, std::uint32_t interest, Watcher* watcher) {
  epoll_event event{};
  event.events = interest;
  event.data.ptr = watcher;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

bool Loop::modify(int fd, std::uint32_t interest, Watcher* watcher) {
  epoll_event event{};
  event.events = interest;
  event.data.ptr = watcher;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0;
}

void Loop::unwatch(int fd, Watcher* watcher) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  for (int i = event_at_; i < event_count_; ++i) {
    epoll_event& event = events_[static_cast<std::size_t>(i)];
    if (event.data.ptr == watcher) event.data.ptr = nullptr;
  }
}

void Loop::retire(std::unique_ptr<Watcher> watcher) {
  if (awake_) retired_.push_back(std::move(watcher));
}

}  // namespace suimon::net
