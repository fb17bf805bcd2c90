// What the daemon is started with: a flag goes before its environment variable, and that before
// the policy file.
//
// Pure functions.
#pragma once

#include "suimon/policy/settings.h"
#include "suimon/result.h"

namespace suimon::app {

inline constexpr const char* kDefaultHttp = "127.0.0.1:8080";
inline constexpr const char* kDefaultAdmin = "127.0.0.1:9090";
inline constexpr const char* kDefaultStore = "memory://?max_keys=1000000";

// Each setting by itself: what `flags` say (the command line and the environment), else what the
// file says.
Settings chosen(const Settings& flags, const Settings& file);

// Whether addresses and the store's URL can be read. The error names the setting.
Result<void> readable(const Settings& settings);

}  // namespace suimon::app
