// Whether a policy's files are still the same.
//
// Thread rule: pure apart from reading the files. Bounded as the loader is (policy/loader.h).
#pragma once

#include <string>

#include "suimon/base/siphash.h"

namespace suimon::app {

// Of the names and contents of all files that load_policy(path) would read. A file that is none
// (a pipe) counts by its name alone.
Hash128 content_fingerprint(const std::string& path);

// Of their names, inodes, sizes and times, without reading them: cheap enough for every few
// seconds.
Hash128 stat_fingerprint(const std::string& path);

}  // namespace suimon::app
