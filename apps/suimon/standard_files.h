// The three files that every program believes to be open.
#pragma once

namespace suimon::app {

// Opens /dev/null in the place of standard input, output and error where whoever started this left
// them closed: the first socket would become standard error otherwise, and the log go to a client
// or a store. False where the system has no file to give. Thread rule: before any other file is
// opened.
bool open_standard_files();

}  // namespace suimon::app
