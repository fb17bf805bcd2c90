// What commands print. Nothing is thrown: whether standard output took it all is asked at the end.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace suimon::app {

template <class... Parts>
void print(std::FILE* to, fmt::format_string<Parts...> format, Parts&&... parts) {
  const std::string text = fmt::format(format, std::forward<Parts>(parts)...);
  std::fwrite(text.data(), 1, text.size(), to);
}

// False when something that was printed could not be written.
inline bool all_written() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

}  // namespace suimon::app
