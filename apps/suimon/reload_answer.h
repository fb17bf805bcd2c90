// What POST /v1/reload answers.
#pragma once

#include <string>

#include "apps/suimon/reloader.h"

namespace suimon::app {

// What changed, as JSON: {"added": [...], "changed": [...], "removed": [...], "unchanged": N,
// "needs_restart": [...]}; or what is wrong, a mistake a line, the first 20.
Result<std::string> reload_answer(const Reloaded& reloaded);

}  // namespace suimon::app
