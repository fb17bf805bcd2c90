// The log of refusals, as the settings ask for it.
#pragma once

#include <memory>

#include "suimon/observe/event_log.h"
#include "suimon/policy/settings.h"

namespace suimon::app {

// The log that is asked for, not yet started; null when none is. The error says what is wrong and
// what would be right.
Result<std::unique_ptr<EventLog>> open_event_log(const LogSettings& settings, const Clock& clock);

}  // namespace suimon::app
