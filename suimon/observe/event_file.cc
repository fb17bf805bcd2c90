#include "suimon/observe/event_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace suimon {
namespace {

constexpr std::string_view kStandardError = "stderr";
constexpr mode_t kMode = 0640;

tl::unexpected<Error> system_failure(std::string_view what, const std::string& where, int code) {
  return failure("event log " + where + " cannot be " + std::string(what) + ": " +
                 std::strerror(code));
}

}  // namespace

Result<EventFile> EventFile::open(std::string where) {
  EventFile file(std::move(where));
  if (auto opened = file.reopen(); !opened) return tl::unexpected(opened.error());
  return file;
}

EventFile::EventFile(EventFile&& other) noexcept
    : where_(std::move(other.where_)), fd_(std::exchange(other.fd_, -1)), torn_(other.torn_) {}

EventFile::~EventFile() {
  if (fd_ >= 0 && is_file()) ::close(fd_);
}

bool EventFile::is_file() const { return where_ != kStandardError; }

Result<void> EventFile::reopen() {
  if (!is_file()) {
    fd_ = STDERR_FILENO;
    return {};
  }
  // Without O_NONBLOCK a pipe would hold up the start until somebody reads it.
  const int fd = ::open(where_.c_str(),
                        O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, kMode);
  if (fd < 0) return system_failure("opened", where_, errno);
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
  torn_ = false;
  return {};
}

bool EventFile::moved_away() const {
  if (!is_file()) return false;
  struct stat open{};
  struct stat named{};
  if (::fstat(fd_, &open) != 0) return true;
  if (::stat(where_.c_str(), &named) != 0) return errno == ENOENT;
  return open.st_dev != named.st_dev || open.st_ino != named.st_ino;
}

Result<void> EventFile::write(std::string_view lines) {
  // Standard error may be a pipe that blocks; one that shows itself writable takes kMostBytes.
  pollfd ready{.fd = fd_, .events = POLLOUT, .revents = 0};
  if (::poll(&ready, 1, 0) != 1) return system_failure("written", where_, EAGAIN);
  if (torn_) {
    if (::write(fd_, "\n", 1) != 1) return system_failure("written", where_, errno);
    torn_ = false;
  }
  const ssize_t written = ::write(fd_, lines.data(), lines.size());
  if (written == static_cast<ssize_t>(lines.size())) return {};
  const int why = written < 0 ? errno : ENOSPC;
  torn_ = written > 0;
  return system_failure("written", where_, why);
}

}  // namespace suimon
