// `suimon replay`: files in, report out.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "suimon/core/identity.h"

namespace suimon {

struct ReplayOptions {
  std::string config;             // a policy file or a directory of them
  std::vector<std::string> logs;  // paths; "-" is standard input
  bool json = false;
  bool show_keys = false;
  std::optional<Secret> secret;  // the hashes of keys are then those of the log and the store
  std::uint64_t most_bytes = std::uint64_t{4} << 30;  // of all logs together
};

// Prints the report to `out`; mistakes, reasons and warnings to `err`. Returns the exit code:
// 0 good, 1 a log cannot be read, 2 wrong usage or configuration.
int run_replay(const ReplayOptions& options, std::ostream& out, std::ostream& err);

}  // namespace suimon
