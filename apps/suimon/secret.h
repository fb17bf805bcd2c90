// The secret under which identities are hashed, in a file of its own.
#pragma once

#include <string>

#include "suimon/core/identity.h"
#include "suimon/result.h"

namespace suimon::app {

// Where the secret lives when nobody says: $STATE_DIRECTORY/secret (as systemd sets it), else
// ~/.local/state/suimon/secret. "" when neither is known.
std::string default_secret_path();

// From here on a crash of this process leaves no core dump, and other processes of its user cannot
// read its memory: both would hold the secret and what clients sent.
void keep_memory_private();

// Reads the secret: 32 hexadecimal digits in a file that only its owner may read. A file that is
// not there is made, mode 0600, with a new random secret.
Result<Secret> load_or_make_secret(const std::string& path);

// The same, but a file that is not there is an error.
Result<Secret> load_secret(const std::string& path);

}  // namespace suimon::app
