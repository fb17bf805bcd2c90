#include "apps/suimon/token_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "suimon/net/fd.h"

namespace suimon::app {

Result<door::AdminTokens> load_admin_tokens(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 10;
  if (path.empty()) return door::AdminTokens();
  // A pipe must not hold up the start; a link is fine, as Kubernetes mounts its secrets by links.
  const net::Fd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) {
    return failure(
        fmt::format("admin token file {} cannot be read: {}", path, std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    return failure(fmt::format("admin token file {} is not a regular file", path));
  }
  if ((status.st_mode & 077) != 0) {
    return failure(
        fmt::format("admin token file {0} may be read by others; run chmod 600 {0}", path));
  }
  std::string text(kMostBytes + 1, '\0');
  std::size_t length = 0;
  for (;;) {
    const ssize_t got = ::read(file.get(), text.data() + length, text.size() - length);
    if (got < 0) {
      return failure(
          fmt::format("admin token file {} cannot be read: {}", path, std::strerror(errno)));
    }
    length += static_cast<std::size_t>(got);
    if (got == 0 || length == text.size()) break;
  }
  if (length > kMostBytes) {
    return failure(fmt::format("admin token file {} is longer than 64 KiB", path));
  }
  text.resize(length);
  auto tokens = door::AdminTokens::parse(text);
  if (!tokens) return failure(fmt::format("admin token file {}: {}", path, tokens.error().text));
  return tokens;
}

}  // namespace suimon::app
