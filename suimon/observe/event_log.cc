#include "suimon/observe/event_log.h"

#include <fmt/format.h>

#include "suimon/observe/event_line.h"

namespace suimon {
namespace {

// Loops do not wake the writer, which would cost them a system call; it looks by itself.
constexpr std::chrono::milliseconds kPause(50);
constexpr std::int64_t kSecond = 1'000'000'000;

}  // namespace

EventLog::EventLog(EventFile file, const Clock& clock, EventLogOptions options)
    : file_(std::move(file)),
      clock_(clock),
      options_(std::move(options)),
      budget_(options_.per_second) {}

EventLog::~EventLog() { stop(); }

LoopEvents& EventLog::add_loop(Observer& next) {
  return *loops_.emplace_back(
      std::make_unique<LoopEvents>(next, options_.identify, options_.per_second));
}

void EventLog::start() {
  thread_ = std::thread([this] { run(); });
}

void EventLog::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void EventLog::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kPause, [this] { return stopping_; })) {
    lock.unlock();
    pass();
    lock.lock();
  }
  lock.unlock();
  look_after_file();
  write_events();
  tell_dropped(/*at_the_end=*/true);
}

void EventLog::pass() {
  look_after_file();
  write_events();
  tell_dropped(/*at_the_end=*/false);
}

void EventLog::look_after_file() {
  const std::int64_t second = clock_.now().ns / kSecond;
  const bool asked = reopen_.exchange(false, std::memory_order_acq_rel);
  if (!asked && second == looked_) return;
  looked_ = second;
  if (asked || file_.moved_away()) succeeded(file_.reopen(), opening_fails_);
}

// The loop whose next refusal is the oldest; null when none has any.
LoopEvents* EventLog::oldest() const {
  LoopEvents* found = nullptr;
  for (const auto& loop : loops_) {
    const Event* const event = loop->ring().front();
    if (event == nullptr) continue;
    if (found == nullptr || event->at < found->ring().front()->at) found = loop.get();
  }
  return found;
}

void EventLog::write_events() {
  wall_minus_boot_ = options_.wall_minus_boot();
  std::size_t most = 0;  // a loop that refuses on and on must not keep the writer from the rest
  for (const auto& loop : loops_) most += loop->ring().capacity();
  for (LoopEvents* loop = oldest(); loop != nullptr && most > 0; loop = oldest(), --most) {
    const Event& event = *loop->ring().front();
    if (budget_.admit(event.at.ns / kSecond, event.limit_number)) {
      line_.clear();
      append_event(line_, event, options_.doors, options_.identify, wall_minus_boot_);
      if (waiting_.size() + line_.size() > EventFile::kMostBytes) flush();
      waiting_ += line_;
      ++waiting_lines_;
    } else {
      dropped_.add();
    }
    loop->ring().pop();
  }
  flush();
}

void EventLog::flush() {
  if (waiting_lines_ == 0) return;
  (succeeded(file_.write(waiting_), writing_fails_) ? lines_ : dropped_).add(waiting_lines_);
  waiting_.clear();
  waiting_lines_ = 0;
}

void EventLog::tell_dropped(bool at_the_end) {
  const Instant now = clock_.now();
  const std::uint64_t dropped = this->dropped();
  if (dropped == told_ || (now.ns / kSecond == told_at_ && !at_the_end)) return;
  line_.clear();
  append_dropped(line_, dropped - told_, (now + wall_minus_boot_).ns);
  told_at_ = now.ns / kSecond;
  if (succeeded(file_.write(line_), writing_fails_)) told_ = dropped;
}

// Complains of the first failure of a row, and tells its end.
bool EventLog::succeeded(const Result<void>& result, bool& fails) {
  if (result && fails) options_.complain("event log " + file_.where() + " works again");
  if (!result && !fails) options_.complain(result.error().text);
  fails = !result;
  return result.has_value();
}

std::uint64_t EventLog::dropped() const {
  std::uint64_t sum = dropped_.value();
  for (const auto& loop : loops_) sum += loop->dropped();
  return sum;
}

std::string event_metrics(const EventLog* log) {
  return fmt::format(
      "# HELP suimon_events_total Refusals that the event log holds.\n"
      "# TYPE suimon_events_total counter\nsuimon_events_total {}\n"
      "# HELP suimon_events_dropped_total Refusals that the event log had no line for.\n"
      "# TYPE suimon_events_dropped_total counter\nsuimon_events_dropped_total {}\n",
      log == nullptr ? 0 : log->lines(), log == nullptr ? 0 : log->dropped());
}

}  // namespace suimon
