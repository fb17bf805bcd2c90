// The file with the tokens of operators.
#pragma once

#include <string>

#include "suimon/door/admin_tokens.h"
#include "suimon/result.h"

namespace suimon::app {

// Reads the tokens of a file that only its owner may read. No path: no tokens.
Result<door::AdminTokens> load_admin_tokens(const std::string& path);

}  // namespace suimon::app
