// The daemon's own log: lines on standard error, in UTC.
//
// Thread rule: set_up_log() and close_log() once each, by the main thread; lines by any thread.
#pragma once

#include <string>

namespace suimon::app {

// Lines go out on a thread of their own: a standard error that nobody reads any more must not keep
// the daemon from its signals. The oldest of 1,024 waiting lines makes room for the newest.
void set_up_log();

// How many lines made room for newer ones, as a metric.
std::string dropped_lines();

// Writes the last lines, and ends the process with `code` if nobody reads them within a second.
void close_log(int code);

}  // namespace suimon::app
