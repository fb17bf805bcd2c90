// The log of refusals: the rings of all loops, one thread that writes them down, and what became of
// each refusal.
//
// Bounds: at most `per_second` lines for the refusals of a second, over all loops, and one more
// line a second that says how many were dropped; a ring of twice that for each loop. The size of
// the file is for whoever rotates it.
//
// Thread rule: add_loop() before start(); reopen(), lines() and dropped() by any thread; pass() by
// one thread, which is the log's own after start().
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "suimon/base/clock.h"
#include "suimon/observe/event_file.h"
#include "suimon/observe/loop_events.h"

namespace suimon {

struct EventLogOptions {
  Identify identify = Identify::none;
  std::uint64_t per_second = 100;  // 1 to kMostPerSecond
  std::span<const std::string_view> doors;
  // What Unix time is ahead of the clock of decisions, in nanoseconds.
  std::function<Duration()> wall_minus_boot;
  // Hears that writing has begun to fail, or goes on again.
  std::function<void(const std::string&)> complain;
};

class EventLog {
 public:
  static constexpr std::uint64_t kMostPerSecond = 10'000;

  EventLog(EventFile file, const Clock& clock, EventLogOptions options);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // What a loop's engine tells its verdicts instead of `next`, which hears of them, too.
  LoopEvents& add_loop(Observer& next);

  void start();
  // Writes what is left and ends the thread.
  void stop();

  // Opens the file again before the next line.
  void reopen() { reopen_.store(true, std::memory_order_release); }

  // Writes what has come up to now.
  void pass();

  // Refusals that were written down, and those that were not.
  std::uint64_t lines() const { return lines_.value(); }
  std::uint64_t dropped() const;

 private:
  void run();
  void look_after_file();
  LoopEvents* oldest() const;
  void write_events();
  void flush();
  void tell_dropped(bool at_the_end);
  bool succeeded(const Result<void>& result, bool& fails);

  EventFile file_;
  const Clock& clock_;
  const EventLogOptions options_;
  std::vector<std::unique_ptr<LoopEvents>> loops_;
  LineBudget budget_;
  std::string waiting_;  // whole lines
  std::uint64_t waiting_lines_ = 0;
  std::string line_;
  Duration wall_minus_boot_{0};
  std::int64_t looked_ = INT64_MIN;  // the second of the last look after the file
  std::int64_t told_at_ = INT64_MIN;
  std::uint64_t told_ = 0;  // how many of dropped() a line has told
  bool opening_fails_ = false;
  bool writing_fails_ = false;
  Counter lines_;
  Counter dropped_;  // here; the loops count their own
  std::atomic<bool> reopen_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

// Both counters in the text format of Prometheus, at 0 without a log.
std::string event_metrics(const EventLog* log);

}  // namespace suimon
