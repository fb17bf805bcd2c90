#include "apps/suimon/private_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "suimon/net/fd.h"

namespace suimon::app {

Result<std::string> read_private_file(std::string_view what, const std::string& path,
                                      std::size_t most_bytes) {
  const auto cannot = [&] {
    return failure(fmt::format("{} {} cannot be read: {}", what, path, std::strerror(errno)));
  };
  // A pipe must not hold up the start; a link is fine, as Kubernetes mounts its secrets by links.
  const net::Fd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) return cannot();
  if (!S_ISREG(status.st_mode)) {
    return failure(fmt::format("{} {} is not a regular file", what, path));
  }
  if ((status.st_mode & 077) != 0) {
    return failure(fmt::format("{0} {1} may be read by others; run chmod 600 {1}", what, path));
  }
  std::string text(most_bytes + 1, '\0');
  std::size_t length = 0;
  for (;;) {
    const ssize_t got = ::read(file.get(), text.data() + length, text.size() - length);
    if (got < 0) return cannot();
    length += static_cast<std::size_t>(got);
    if (got == 0 || length == text.size()) break;
  }
  if (length > most_bytes) {
    return failure(fmt::format("{} {} is longer than {} KiB", what, path, most_bytes >> 10));
  }
  text.resize(length);
  return text;
}

Result<std::string> load_password(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{4} << 10;
  if (path.empty()) return std::string();
  auto text = read_private_file("password file", path, kMostBytes);
  if (!text) return text;
  if (text->ends_with('\n')) text->pop_back();
  if (text->empty() || text->find('\n') != std::string::npos) {
    return failure("password file " + path + " does not hold one line; write the password alone");
  }
  return text;
}

}  // namespace suimon::app
