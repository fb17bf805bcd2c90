#include "apps/suimon/log.h"

#include <fmt/core.h>
#include <spdlog/async.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <future>
#include <thread>

namespace suimon::app {

void set_up_log() {
  constexpr std::size_t kMostLines = 1024;
  spdlog::init_thread_pool(kMostLines, 1);
  auto log = std::make_shared<spdlog::async_logger>(
      "suimon", std::make_shared<spdlog::sinks::stderr_color_sink_mt>(), spdlog::thread_pool(),
      spdlog::async_overflow_policy::overrun_oldest);
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %v", spdlog::pattern_time_type::utc);
  spdlog::set_default_logger(log);
}

std::string dropped_lines() {
  return fmt::format(
      "# HELP suimon_log_lines_dropped_total Lines that nobody read in time.\n"
      "# TYPE suimon_log_lines_dropped_total counter\nsuimon_log_lines_dropped_total {}\n",
      spdlog::thread_pool()->overrun_counter());
}

void close_log(int code) {
  std::packaged_task<void()> last_lines(spdlog::shutdown);
  auto written = last_lines.get_future();
  std::thread(std::move(last_lines)).detach();
  if (written.wait_for(std::chrono::seconds(1)) != std::future_status::ready) std::_Exit(code);
}

}  // namespace suimon::app
