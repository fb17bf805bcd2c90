// What the daemon is started with: a flag goes before its environment variable, and that before
// the policy file.
//
// Pure functions.
#pragma once

#include <string>
#include <vector>

#include "suimon/policy/settings.h"
#include "suimon/result.h"

namespace suimon::app {

// Each setting by itself: what `flags` say (the command line and the environment), else what the
// file says, else the default where there is one.
Settings chosen(const Settings& flags, const Settings& file);

// Whether addresses and the store's URL can be read. The error names the setting.
Result<void> readable(const Settings& settings);

// The names of those that are otherwise `now` than when the program `started`, and stay as they
// were until it starts again. Both as chosen() gives them.
std::vector<std::string> waiting_for_restart(const Settings& started, Settings now);

}  // namespace suimon::app
