#include "apps/suimon/top/client.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <cstring>
#include <memory>

#include "suimon/base/clock.h"
#include "suimon/net/fd.h"

namespace suimon::app {
namespace {

namespace http = boost::beast::http;

// What there is to wait for: the socket, the end of patience, or that nobody wants to know.
class Patience {
 public:
  explicit Patience(int stop) : stop_(stop) {}

  Result<void> wait(const net::Fd& fd, short events) const {
    std::array<pollfd, 2> polled = {pollfd{fd.get(), events, 0}, pollfd{stop_, POLLIN, 0}};
    const Duration left = end_ - boot_now();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
    const int ready = ms <= 0 ? 0 : ::poll(polled.data(), polled.size(), static_cast<int>(ms));
    if (ready < 0 && errno != EINTR) return failure(std::strerror(errno));
    if (ready == 0) return failure("there was no answer within 5 s");
    if (polled[1].revents != 0) return failure("stopped");
    return {};
  }

 private:
  int stop_;
  Instant end_ = boot_now() + std::chrono::seconds(5);
};

Result<net::Fd> connect(const sockaddr* address, socklen_t length, const Patience& patience) {
  net::Fd fd{::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return failure(std::strerror(errno));
  if (::connect(fd.get(), address, length) == 0) return fd;
  if (errno != EINPROGRESS) return failure(std::strerror(errno));
  if (auto waited = patience.wait(fd, POLLOUT); !waited) return tl::unexpected(waited.error());
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return failure(std::strerror(error));
  return fd;
}

Result<net::Fd> connect(const net::ListenAddress& address, const Patience& patience) {
  if (address.kind == net::ListenAddress::Kind::unix_socket) {
    sockaddr_un path{};
    path.sun_family = AF_UNIX;
    if (address.path.size() >= sizeof path.sun_path) return failure("the path is too long");
    std::memcpy(path.sun_path, address.path.data(), address.path.size());
    return connect(reinterpret_cast<const sockaddr*>(&path), sizeof path, patience);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (code != 0) return failure(::gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  Result<net::Fd> fd = failure("the name has no address");
  for (const addrinfo* one = all.get(); one != nullptr && !fd; one = one->ai_next) {
    fd = connect(one->ai_addr, one->ai_addrlen, patience);
  }
  return fd;
}

Result<void> send_all(const net::Fd& fd, std::string_view text, const Patience& patience) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      return failure(std::strerror(errno));
    } else if (auto waited = patience.wait(fd, POLLOUT); !waited) {
      return waited;
    }
  }
  return {};
}

Result<std::string> read_answer(const net::Fd& fd, const std::string& path,
                                const Patience& patience) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMostBytes);
  parser.eager(true);
  std::string unread;
  std::array<char, 65536> chunk;
  while (!parser.is_done()) {
    const ssize_t got = ::recv(fd.get(), chunk.data(), chunk.size(), 0);
    boost::beast::error_code error;
    if (got > 0) {
      unread.append(chunk.data(), static_cast<std::size_t>(got));
      unread.erase(0, parser.put(boost::asio::buffer(unread), error));
      if (error == http::error::need_more) error = {};
    } else if (got == 0 && !parser.got_some()) {
      return failure(
          "the connection was closed without an answer; if it speaks TLS, give the admin listener "
          "a "
          "unix socket");
    } else if (got == 0) {
      parser.put_eof(error);
      if (!error && !parser.is_done()) return failure("the answer has no end");
    } else if (errno != EAGAIN && errno != EINTR) {
      return failure(std::strerror(errno));
    } else if (auto waited = patience.wait(fd, POLLIN); !waited) {
      return tl::unexpected(waited.error());
    }
    if (error) return failure("the answer is no HTTP: " + error.message());
  }
  if (parser.get().result_int() != 200) {
    return failure(
        fmt::format("{} is answered with status {}; is this the admin listener of suimon?", path,
                    parser.get().result_int()));
  }
  return std::move(parser.get().body());
}

}  // namespace

Result<std::string> get(const AdminServer& server, const std::string& path, int stop) {
  const Patience patience(stop);
  const auto fd = connect(server.address, patience);
  if (!fd) return tl::unexpected(fd.error());
  std::string request = "GET " + path + " HTTP/1.1\r\nHost: suimon\r\nConnection: close\r\n";
  if (!server.token.empty()) request += "Authorization: Bearer " + server.token + "\r\n";
  if (auto sent = send_all(*fd, request + "\r\n", patience); !sent) {
    return tl::unexpected(sent.error());
  }
  return read_answer(*fd, path, patience);
}

}  // namespace suimon::app
