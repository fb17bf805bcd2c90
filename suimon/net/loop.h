// One thread's event loop: sockets, deadlines and work handed over by other threads.
//
// A wake-up is: wait; read the clock once; call the watchers that are ready; run what was posted;
// fire the timers; call the on_wake_end hooks. Thread rule: post() and stop() may be called by any
// thread, everything else by the loop's own.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "suimon/base/clock.h"
#include "suimon/net/fd.h"
#include "suimon/net/timers.h"

namespace suimon::net {

// Told when its descriptor is ready: `events` as in epoll(7), level-triggered.
struct Watcher {
  virtual ~Watcher() = default;
  virtual void on_ready(std::uint32_t events) = 0;
};

class Loop {
 public:
  // At most this many functions may wait to be run.
  static constexpr std::size_t kMaxPosted = 65'536;

  // Requires that the system still grants an epoll instance and an eventfd; ends the program,
  // saying why, where it does not.
  explicit Loop(const Clock& clock);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Works until stop(), which may come first.
  void run();
  void stop();

  // One wake-up; waits at most `max_wait_ms` (-1: as long as it takes) of real time.
  void poll_once(int max_wait_ms);

  const Clock& clock() const { return clock_; }
  // The reading of the clock at this wake-up.
  Instant now() const { return now_; }
  // Which wake-up this is.
  std::uint64_t wake_number() const { return wake_number_; }

  // Has `work` run on the loop's thread. False, and nothing happens, when kMaxPosted wait already.
  bool post(std::function<void()> work);

  // Watches `fd` for `interest` (EPOLLIN, EPOLLOUT, …). False when the system refuses.
  bool watch(int fd, std::uint32_t interest, Watcher* watcher);
  bool modify(int fd, std::uint32_t interest, Watcher* watcher);
  // After this the watcher is not called any more, not even for what the current wake-up found.
  void unwatch(int fd, Watcher* watcher);

  // Destroys a watcher at the end of the wake-up, for it may be on the call stack (between
  // wake-ups: at once).
  void retire(std::unique_ptr<Watcher> watcher);

  Timers& timers() { return timers_; }

  // Adds a function that is called at the end of each wake-up, in the order of addition, as long
  // as the loop lives.
  void on_wake_end(std::function<void()> hook) { hooks_.push_back(std::move(hook)); }

  // Scratch space that is free between calls of watchers: where sockets are read into.
  std::span<char> scratch() { return scratch_; }

 private:
  struct Waker : Watcher {
    Fd fd;
    void on_ready(std::uint32_t events) override;
  };

  int wait_ms(int max_wait_ms) const;
  void run_posted();

  const Clock& clock_;
  Instant now_;
  std::uint64_t wake_number_ = 0;
  Fd epoll_;
  Waker waker_;
  Timers timers_;
  std::vector<std::function<void()>> hooks_;
  std::vector<std::unique_ptr<Watcher>> retired_;
  std::vector<char> scratch_;
  std::array<epoll_event, 256> events_;
  int event_count_ = 0;
  int event_at_ = 0;
  bool awake_ = false;  // within a wake-up
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;   // under mutex_
  std::vector<std::function<void()>> running_;  // swapped with posted_, so both keep their room
};

}  // namespace suimon::net
