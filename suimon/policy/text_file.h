// Reading a text file whole, whatever its path leads to.
//
// Thread rule: reads files; any thread.
#pragma once

#include <string>

namespace suimon {

// Appends the file to `out`, to its end or to just above kMostDocumentBytes. 0 or an errno. A pipe
// is waited for, but not for long.
int read_text_file(const std::string& path, std::string& out);

}  // namespace suimon
