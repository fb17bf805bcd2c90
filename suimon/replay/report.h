// A replay's report as text.
//
// Thread rule: pure functions.
#pragma once

#include <string>

#include "suimon/replay/replay.h"

namespace suimon {

// One JSON object on one line, as `suimon replay --json` prints it.
std::string to_json(const Report& report);

// The same for people. Control characters of keys are escaped: logs hold what strangers sent.
std::string to_table(const Report& report);

}  // namespace suimon
