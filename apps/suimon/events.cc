#include "apps/suimon/events.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <optional>

#include "apps/suimon/worker.h"

namespace suimon::app {

Result<std::unique_ptr<EventLog>> open_event_log(const LogSettings& settings, const Clock& clock) {
  // NOLINTBEGIN(bugprone-unchecked-optional-access): fill_in_defaults() left nothing out
  const std::string where = *settings.events;
  const std::uint64_t per_second = *settings.per_second;
  const Identify identify = *settings.identify;
  // NOLINTEND(bugprone-unchecked-optional-access)
  if (where == "off") return nullptr;
  auto file = EventFile::open(where);
  if (!file) return failure(file.error().text + "; write a file, stderr or off");
  spdlog::info("refusals go to {}, at most {} lines a second", where, per_second);
  return std::make_unique<EventLog>(
      std::move(*file), clock,
      EventLogOptions{.identify = identify,
                      .per_second = per_second,
                      .doors = listener_names().first(door::registered_doors().size()),
                      .wall_minus_boot =
                          [&clock] {
                            const auto wall = std::chrono::system_clock::now().time_since_epoch();
                            return Duration(wall) - Duration(clock.now().ns);
                          },
                      .complain = [](const std::string& text) { spdlog::warn("{}", text); }});
}

}  // namespace suimon::app
