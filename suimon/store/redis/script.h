// The script that decides batches, and scripts in general.
//
// Thread rule: pure functions.
#pragma once

#include <string>

#include "suimon/store/redis/servers.h"

namespace suimon::redis {

// With its SHA-1, by which Redis knows a script.
Script make_script(std::string text);

// take.lua and its two other parts; what it is told and answers stands in batch.h.
const Script& take_script();

}  // namespace suimon::redis
