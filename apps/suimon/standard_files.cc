#include "apps/suimon/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace suimon::app {

bool open_standard_files() {
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
    if (::fcntl(file, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free: all below are taken by now.
    if (::open("/dev/null", file == STDIN_FILENO ? O_RDONLY : O_WRONLY) != file) return false;
  }
  return true;
}

}  // namespace suimon::app
