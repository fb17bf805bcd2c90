// Loading a policy for a command: mistakes go to standard error, one a line.
#pragma once

#include <optional>
#include <string>

#include "suimon/policy/loader.h"

namespace suimon::app {

// The policy, or nothing when it has mistakes, which are then printed. Warnings are printed, too.
std::optional<Policy> load_or_explain(const std::string& path);

}  // namespace suimon::app
