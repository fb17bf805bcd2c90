#include "suimon/net/address.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "suimon/base/text.h"

namespace suimon::net {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::string_view kModeMark = "?mode=";
constexpr int kBacklog = 4096;  // the kernel's own bound (somaxconn) applies besides

Error wrong(std::string_view text, std::string_view why) {
  return Error{"\"" + std::string(text) + "\" " + std::string(why) +
               "; write host:port, [::1]:8080, unix:/path or off"};
}

Error system_error(const ListenAddress& address, std::string_view what, int code) {
  std::string text = "cannot listen on " + to_text(address) + ": " + std::string(what) + ": " +
                     std::strerror(code);
  if (code == EADDRINUSE) text += "; a program listens there: stop it, or choose another address";
  return Error{std::move(text)};
}

sockaddr_un unix_name(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(), std::min(path.size(), sizeof name.sun_path - 1));
  return name;
}

const sockaddr* generic(const sockaddr_un& name) {
  return reinterpret_cast<const sockaddr*>(&name);
}

// True when the file is a socket that nobody listens on.
bool is_stale(const sockaddr_un& name) {
  struct stat file{};
  if (::lstat(name.sun_path, &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return probe && ::connect(probe.get(), generic(name), sizeof name) != 0 && errno == ECONNREFUSED;
}

// Between the look at a socket's file and its replacement nobody else may replace it, and nobody
// may take a socket that is bound and does not listen yet for a dead one. So those who open sockets
// in one directory do it one after the other. Who holds the lock for long is no suimon; then it
// goes on without.
Fd lock_directory_of(const std::string& path) {
  constexpr int kTries = 50;
  constexpr int kPauseMs = 10;
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  Fd lock(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; lock && i < kTries && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0; ++i) {
    ::poll(nullptr, 0, kPauseMs);
  }
  return lock;
}

Result<Fd> open_unix(const ListenAddress& address) {
  const Fd lock = lock_directory_of(address.path);
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return tl::unexpected(system_error(address, "socket", errno));
  const sockaddr_un name = unix_name(address.path);
  // The mode of the unbound socket is the one that bind() gives the file (less the umask), so
  // there is no moment in which it is open to everybody.
  if (::fchmod(fd.get(), address.mode) != 0) {
    return tl::unexpected(system_error(address, "fchmod", errno));
  }
  int bound = ::bind(fd.get(), generic(name), sizeof name);
  if (bound != 0 && errno == EADDRINUSE && is_stale(name)) {
    ::unlink(name.sun_path);
    bound = ::bind(fd.get(), generic(name), sizeof name);
  }
  if (bound != 0) {
    const int error = errno;  // lstat may write another one
    struct stat file{};
    if (error == EADDRINUSE && ::lstat(name.sun_path, &file) == 0 && !S_ISSOCK(file.st_mode)) {
      return failure("cannot listen on " + to_text(address) +
                     ": the path exists and is no socket; choose another path or remove it");
    }
    return tl::unexpected(system_error(address, "bind", error));
  }
  if (::chmod(name.sun_path, address.mode) != 0) {
    return tl::unexpected(system_error(address, "chmod", errno));
  }
  if (::listen(fd.get(), kBacklog) != 0) {
    return tl::unexpected(system_error(address, "listen", errno));
  }
  return fd;
}

Result<Fd> open_one(const ListenAddress& address, const addrinfo& info, bool reuse_port) {
  Fd fd(::socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return tl::unexpected(system_error(address, "socket", errno));
  const int on = 1;
  const int off = 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (info.ai_family == AF_INET6) {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (reuse_port && ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) {
    return tl::unexpected(system_error(address, "SO_REUSEPORT", errno));
  }
  if (::bind(fd.get(), info.ai_addr, info.ai_addrlen) != 0) {
    return tl::unexpected(system_error(address, "bind", errno));
  }
  if (::listen(fd.get(), kBacklog) != 0) {
    return tl::unexpected(system_error(address, "listen", errno));
  }
  return fd;
}

Result<Fd> open_tcp(const ListenAddress& address, bool reuse_port) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  const int code = ::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
  if (code != 0) {
    return failure("cannot listen on " + to_text(address) + ": " + ::gai_strerror(code));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  // The first address is the one that the resolver prefers; the others are for a machine that has
  // no such family.
  Result<Fd> fd = open_one(address, *all, reuse_port);
  for (const addrinfo* next = all->ai_next; !fd && next != nullptr; next = next->ai_next) {
    if (Result<Fd> other = open_one(address, *next, reuse_port)) return other;
  }
  return fd;
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
  ListenAddress address;
  if (text == "off") return address;
  if (text.starts_with(kUnixPrefix)) {
    address.kind = ListenAddress::Kind::unix_socket;
    const std::size_t mark = std::min(text.rfind(kModeMark), text.size());
    address.path = text.substr(kUnixPrefix.size(), mark - kUnixPrefix.size());
    if (mark != text.size()) {
      const std::string_view mode = text.substr(mark + kModeMark.size());
      const auto bits = parse_number<mode_t>(mode, 8);
      if (mode.size() != 3 || !bits) {
        return tl::unexpected(wrong(text, "has a mode that is no three octal digits such as 660"));
      }
      address.mode = *bits;
    }
    if (address.path.empty() || address.path.find('\0') != std::string::npos) {
      return tl::unexpected(wrong(text, "names no path"));
    }
    if (address.path.size() >= sizeof(sockaddr_un::sun_path)) {
      return tl::unexpected(wrong(text, "is longer than the 107 bytes of a socket's path"));
    }
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return tl::unexpected(wrong(text, "has no port"));
  std::string_view host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return tl::unexpected(wrong(text, "has an IPv6 address without brackets"));
  }
  if (host.empty() || host.find_first_of(std::string_view("[] /\0", 5)) != std::string_view::npos) {
    return tl::unexpected(wrong(text, "has no host"));
  }
  const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
  if (!port) {
    return tl::unexpected(wrong(text, "has a port that is no number from 0 to 65535"));
  }
  address.kind = ListenAddress::Kind::tcp;
  address.host = host;
  address.port = *port;
  return address;
}

namespace {

// "?mode=600" where the address would be read as another one without it.
std::string mode_text(const ListenAddress& address) {
  const bool usual = address.mode == ListenAddress{}.mode;
  if (usual && address.path.find(kModeMark) == std::string::npos) return {};
  std::string text(kModeMark);
  for (const unsigned shift : {6U, 3U, 0U}) {
    text += static_cast<char>('0' + (address.mode >> shift & 7));
  }
  return text;
}

}  // namespace

std::string to_text(const ListenAddress& address) {
  switch (address.kind) {
    case ListenAddress::Kind::off:
      return "off";
    case ListenAddress::Kind::unix_socket:
      return std::string(kUnixPrefix) + address.path + mode_text(address);
    case ListenAddress::Kind::tcp:
      break;
  }
  const bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

Result<Fd> open_listener(const ListenAddress& address, bool reuse_port) {
  switch (address.kind) {
    case ListenAddress::Kind::unix_socket:
      return open_unix(address);
    case ListenAddress::Kind::tcp:
      return open_tcp(address, reuse_port);
    case ListenAddress::Kind::off:
      break;
  }
  return failure("cannot listen on \"off\"; write host:port or unix:/path");
}

Result<Fd> share(const Fd& fd) {
  Fd copy(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return failure(std::string("cannot share a socket: ") + std::strerror(errno));
  return copy;
}

std::string bound_address(const Fd& listener) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) return "off";
  ListenAddress address;
  if (name.ss_family == AF_UNIX) {
    address.kind = ListenAddress::Kind::unix_socket;
    address.path = reinterpret_cast<const sockaddr_un*>(&name)->sun_path;
    return to_text(address);
  }
  std::array<char, NI_MAXHOST> host{};
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&name), size, host.data(), host.size(),
                    nullptr, 0, NI_NUMERICHOST) != 0) {
    return "off";
  }
  address.kind = ListenAddress::Kind::tcp;
  address.host = host.data();
  // The port stands at the same place in both families.
  address.port = ntohs(reinterpret_cast<const sockaddr_in*>(&name)->sin_port);
  return to_text(address);
}

std::optional<Address> peer_address(const sockaddr_storage& peer) {
  Address address;
  if (peer.ss_family == AF_INET) {
    address.bytes[10] = address.bytes[11] = 0xff;
    std::memcpy(address.bytes.data() + 12, &reinterpret_cast<const sockaddr_in*>(&peer)->sin_addr,
                4);
    return address;
  }
  if (peer.ss_family == AF_INET6) {
    std::memcpy(address.bytes.data(), &reinterpret_cast<const sockaddr_in6*>(&peer)->sin6_addr, 16);
    return unwrapped(address);
  }
  return std::nullopt;
}

SocketFile::SocketFile(const ListenAddress& address) {
  struct stat file{};
  if (address.kind != ListenAddress::Kind::unix_socket ||
      ::lstat(address.path.c_str(), &file) != 0) {
    return;
  }
  path_ = address.path;
  device_ = file.st_dev;
  inode_ = file.st_ino;
}

SocketFile::~SocketFile() {
  struct stat file{};
  // Another process may have put its own socket there since.
  if (!path_.empty() && ::lstat(path_.c_str(), &file) == 0 && file.st_dev == device_ &&
      file.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
}

}  // namespace suimon::net
