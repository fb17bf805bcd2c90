// A log file, read whole.
#pragma once

#include <cstdint>
#include <string>

#include "suimon/result.h"

namespace suimon {

struct LogFile {
  std::string name;  // as messages call it
  std::string text;
};

// Reads the file at `path`, or standard input for "-", and fails beyond `most_bytes`. It is read
// rather than mapped: a log that its server cuts short meanwhile would turn a mapping into SIGBUS.
Result<LogFile> read_log(const std::string& path, std::uint64_t most_bytes);

}  // namespace suimon
