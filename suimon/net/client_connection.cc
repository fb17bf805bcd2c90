#include "suimon/net/client_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace suimon::net {
namespace {

constexpr std::size_t kMaxKept = 256 << 10;  // bytes of an output buffer that is kept

std::string system_text(int code) { return std::strerror(code); }

SocketName unix_name(const std::string& path) {
  SocketName name;
  auto& unix_part = reinterpret_cast<sockaddr_un&>(name.name);
  unix_part.sun_family = AF_UNIX;
  std::memcpy(unix_part.sun_path, path.data(),
              std::min(path.size(), sizeof unix_part.sun_path - 1));
  name.size = sizeof(sockaddr_un);
  return name;
}

// An answer that comes back in pieces waits for none of them; a connection that rests for hours
// shows that it still stands, to what forgets connections on the way, too.
void tune(int fd) {
  const int on = 1;
  const int idle_seconds = 30;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
}

}  // namespace

std::string to_text(const Endpoint& endpoint) {
  if (!endpoint.path.empty()) return "unix:" + endpoint.path;
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  return (v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
}

ClientConnection::ClientConnection(Loop& loop, Owner& owner, Options options)
    : loop_(loop), owner_(owner), options_(std::move(options)), resolver_(loop) {}

void ClientConnection::open(const Endpoint& endpoint) {
  close();
  if (endpoint != endpoint_) next_ = 0;
  endpoint_ = endpoint;
  stage_ = Stage::looking_up;
  written_ = 0;
  why_ = "looking up the name takes too long";
  timer_ = loop_.timers().add(loop_.now() + options_.connect_timeout, *this);
  if (!endpoint_.path.empty()) return on_addresses({unix_name(endpoint_.path)}, {});
  resolver_.ask(endpoint_.host, endpoint_.port,
                [this](std::vector<SocketName> found, const std::string& why) {
                  on_addresses(std::move(found), why);
                });
}

void ClientConnection::close() {
  ++opening_;
  resolver_.forget();
  loop_.timers().cancel(std::exchange(timer_, {}));
  if (fd_) {
    if (tls_) tls_->say_goodbye();
    loop_.unwatch(fd_.get(), this);
    fd_.reset();
  }
  tls_.reset();
  out_.clear();
  if (out_.capacity() > kMaxKept) out_.shrink_to_fit();
  out_at_ = 0;
  interest_ = 0;
  stage_ = Stage::closed;
}

// Closes and tells the owner; while open() is on the stack, the loop tells it later.
void ClientConnection::lose(const std::string& why) {
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): it may be our own, which goes
  const std::string told = why;
  close();
  owner_.on_lost(told);
}

void ClientConnection::on_addresses(std::vector<SocketName> found, const std::string& why) {
  names_ = std::move(found);
  tried_ = 0;
  why_ = why;
  try_next();
}

// Tries addresses until one does not fail at once.
void ClientConnection::try_next() {
  stage_ = Stage::connecting;
  while (tried_ < names_.size()) {
    ++tried_;
    if (try_one(names_[next_++ % names_.size()])) return;
  }
  // Within open() the owner is not told: a deadline that is due now does it.
  loop_.timers().cancel(timer_);
  timer_ = loop_.timers().add(loop_.now(), *this);
}

bool ClientConnection::try_one(const SocketName& name) {
  interest_ = EPOLLOUT;
  fd_ = Fd(::socket(name.name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd_) {
    if (endpoint_.path.empty()) tune(fd_.get());
    const int result =
        ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&name.name), name.size);
    // Of a unix socket EAGAIN says that too many are waiting there: it failed.
    if ((result == 0 || errno == EINPROGRESS) && loop_.watch(fd_.get(), interest_, this)) {
      why_ = "no connection in time";
      return true;
    }
  }
  why_ = system_text(errno);
  fd_.reset();
  return false;
}

void ClientConnection::on_ready(std::uint32_t events) {
  const std::uint64_t opening = opening_;
  switch (stage_) {
    case Stage::connecting:
      return on_connected();
    case Stage::handshake:
      return shake_hands();
    case Stage::open:
      break;
    default:
      return;
  }
  // What has come is read even when the connection broke behind it: an answer is an answer.
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 || (tls_ && tls_->wants_output())) {
    receive();
  }
  if (opening == opening_ && stage_ == Stage::open) send();
}

void ClientConnection::on_connected() {
  int code = 0;
  socklen_t size = sizeof code;
  if (::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &code, &size) != 0) code = errno;
  if (code != 0) {
    why_ = system_text(code);
    loop_.unwatch(fd_.get(), this);
    fd_.reset();
    return try_next();
  }
  --next_;  // it works: the next opening begins with it
  if (!options_.tls) return opened();
  stage_ = Stage::handshake;
  why_ = "no TLS handshake in time";
  tls_ = std::make_unique<TlsStream>(
      *options_.tls, fd_.get(),
      TlsStream::ServerName{options_.server_name.empty() ? endpoint_.host : options_.server_name});
  shake_hands();
}

void ClientConnection::shake_hands() {
  switch (tls_->shake_hands()) {
    case TlsStream::Handshake::done:
      return opened();
    case TlsStream::Handshake::failed:
      return lose("TLS: " + tls_->mistake());
    case TlsStream::Handshake::going_on:
      want(tls_->wants_output() ? EPOLLOUT : EPOLLIN);
  }
}

void ClientConnection::opened() {
  stage_ = Stage::open;
  loop_.timers().cancel(std::exchange(timer_, {}));
  const std::uint64_t opening = opening_;
  want(EPOLLIN);
  if (opening == opening_) owner_.on_open();
}

void ClientConnection::receive() {
  const std::span<char> scratch = loop_.scratch();
  const auto got =
      tls_ ? tls_->read(scratch) : ::recv(fd_.get(), scratch.data(), scratch.size(), 0);
  if (got < 0) {
    if (errno == EAGAIN || errno == EINTR) return;
    // With TLS 1.3 a client hears only now that its certificate is not good enough.
    return lose(tls_ ? "TLS: " + tls_->mistake() : system_text(errno));
  }
  if (got == 0) return lose("the server closed the connection");
  owner_.on_bytes({scratch.data(), static_cast<std::size_t>(got)});
}

void ClientConnection::flush() {
  if (stage_ == Stage::open) send();
}

void ClientConnection::send() {
  if (unsent() > 0) {
    const std::string_view rest = std::string_view(out_).substr(out_at_);
    const auto put =
        tls_ ? tls_->write(rest) : ::send(fd_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (put < 0 && errno != EAGAIN && errno != EINTR) {
      // Answers may still stand in the socket; reading tells the end, in their order.
      return want(EPOLLIN);
    }
    if (put > 0) {
      out_at_ += static_cast<std::size_t>(put);
      written_ += static_cast<std::uint64_t>(put);
    }
    if (unsent() == 0) {
      out_.clear();
      out_at_ = 0;
      if (out_.capacity() > kMaxKept) out_.shrink_to_fit();
    } else if (out_at_ > unsent()) {
      out_.erase(0, out_at_);
      out_at_ = 0;
    }
  }
  const bool more = unsent() > 0 || (tls_ && tls_->wants_output());
  want(more ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void ClientConnection::want(std::uint32_t interest) {
  if (interest == interest_) return;
  interest_ = interest;
  if (!loop_.modify(fd_.get(), interest, this)) lose("the system refuses to watch a socket");
}

void ClientConnection::on_timer(Instant) {
  timer_ = {};
  lose(why_);
}

}  // namespace suimon::net
