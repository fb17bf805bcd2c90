#include "suimon/policy/text_file.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "suimon/policy/document.h"

namespace suimon {
namespace {

// For the writer of a pipe: 5 s altogether, so that one who sends a byte now and then does not hold
// up a daemon that reloads.
constexpr int kWaits = 5000;
constexpr int kWaitMs = 1;

int read_all(int descriptor, std::string& out) {
  int waits = 0;
  std::string buffer(std::size_t{64} << 10, '\0');
  while (out.size() <= kMostDocumentBytes) {
    const ::ssize_t size = ::read(descriptor, buffer.data(), buffer.size());
    if (size == 0) break;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) {
      ::pollfd more{descriptor, POLLIN, 0};
      if (++waits > kWaits) return ETIMEDOUT;
      ::poll(&more, 1, kWaitMs);
      continue;
    }
    if (size < 0) return errno;
    out.append(buffer, 0, static_cast<std::size_t>(size));
  }
  return 0;
}

}  // namespace

int read_text_file(const std::string& path, std::string& out) {
  // A pipe that nobody writes to must not hold up a daemon that reloads.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return errno;
  const int error = read_all(descriptor, out);
  ::close(descriptor);
  return error;
}

}  // namespace suimon
