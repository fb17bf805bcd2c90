#include "apps/suimon/events.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <optional>

#include "apps/suimon/worker.h"

namespace suimon::app {
namespace {

constexpr std::array<std::string_view, 3> kIdentifyNames = {"none", "truncated", "raw"};

Result<Identify> identify_of(const std::string& flag, const LogSettings& settings) {
  if (flag.empty()) return settings.identify.value_or(Identify::none);
  for (std::size_t i = 0; i < kIdentifyNames.size(); ++i) {
    if (kIdentifyNames[i] == flag) return static_cast<Identify>(i);
  }
  return failure(fmt::format("--log-identify: \"{}\" is not known; write {}", flag,
                             fmt::join(kIdentifyNames, ", ")));
}

}  // namespace

Result<std::unique_ptr<EventLog>> open_event_log(const ServeOptions& options,
                                                 const LogSettings& settings, const Clock& clock) {
  const std::string where =
      options.log_events.empty() ? settings.events.value_or("off") : options.log_events;
  const auto identify = identify_of(options.log_identify, settings);
  if (!identify) return tl::unexpected(identify.error());
  const std::uint64_t per_second =
      options.log_per_second != 0 ? options.log_per_second : settings.per_second.value_or(100);
  if (per_second < 1 || per_second > EventLog::kMostPerSecond) {
    return failure(fmt::format("log: {} events per second are out of range; write 1 to {}",
                               per_second, EventLog::kMostPerSecond));
  }
  if (where.empty() || where == "off") return nullptr;
  auto file = EventFile::open(where);
  if (!file) return failure(file.error().text + "; write a file, stderr or off");
  spdlog::info("refusals go to {}, at most {} lines a second", where, per_second);
  return std::make_unique<EventLog>(
      std::move(*file), clock,
      EventLogOptions{.identify = *identify,
                      .per_second = per_second,
                      .doors = std::span(kListenerNames).first(kDoors),
                      .wall_minus_boot =
                          [&clock] {
                            const auto wall = std::chrono::system_clock::now().time_since_epoch();
                            return Duration(wall) - Duration(clock.now().ns);
                          },
                      .complain = [](const std::string& text) { spdlog::warn("{}", text); }});
}

}  // namespace suimon::app
