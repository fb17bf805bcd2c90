#include "apps/suimon/notify.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "suimon/net/fd.h"

namespace suimon::app {
namespace {

void notify(std::string_view state) {
  const char* const variable = std::getenv("NOTIFY_SOCKET");
  const std::string_view path = variable == nullptr ? "" : variable;
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path) return;
  if (path.front() != '/' && path.front() != '@') return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path.front() == '@') address.sun_path[0] = '\0';  // an abstract name
  const net::Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  // A manager that does not listen is no reason to stop: it has its own time limit for us.
  static_cast<void>(::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&address), length));
}

}  // namespace

void notify_ready() { notify("READY=1"); }
void notify_stopping() { notify("STOPPING=1"); }

NotifyReload::NotifyReload() {
  // The manager compares this with its own clock, to tell an old message from a new one.
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  notify(fmt::format("RELOADING=1\nMONOTONIC_USEC={}",
                     std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000));
}

}  // namespace suimon::app
