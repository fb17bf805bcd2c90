// Files with what only their owner may read: tokens and passwords.
//
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "suimon/result.h"

namespace suimon::app {

// The whole of a regular file of mode 0600 or less. `what` names it in errors: "admin token file".
Result<std::string> read_private_file(std::string_view what, const std::string& path,
                                      std::size_t most_bytes);

// The password of a store: the one line of such a file, at most 4 KiB, not empty. No path: "".
Result<std::string> load_password(const std::string& path);

}  // namespace suimon::app
