#include "suimon/net/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "suimon/net/address.h"

namespace suimon::net {
namespace {

// One wake-up accepts at most so many, so that those who are here already are served.
constexpr int kAcceptBatch = 64;
// How long to leave the queue alone when the system has no descriptor or memory left.
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);
// Of the loops that share a unix socket one wakes up for a new connection, not all.
constexpr std::uint32_t kListenInterest = EPOLLIN | EPOLLEXCLUSIVE;

// The connection that was waiting is gone or the network had a hiccup: the next one may be fine
// (accept(2), "Error handling").
bool concerns_one_connection(int error) {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
      return true;
    default:
      return false;
  }
}

}  // namespace

Server::Server(Loop& loop, Fd listener, SessionFactory sessions, const ServerLimits& limits,
               Greeting greeting)
    : loop_(loop),
      listener_(std::move(listener)),
      sessions_(std::move(sessions)),
      limits_(limits),
      greeting_(std::move(greeting)) {
  if (!loop_.watch(listener_.get(), kListenInterest, this)) accept_later();
}

Server::~Server() {
  stop_accepting();
  close_all();
  loop_.timers().cancel(resume_timer_);
}

void Server::stop_accepting() {
  loop_.timers().cancel(accept_timer_);
  accept_timer_ = {};
  if (!listener_) return;
  loop_.unwatch(listener_.get(), this);
  listener_.reset();
}

void Server::finish_accepting() {
  constexpr int kMostRounds = 256;  // strangers who keep coming must not hold up the end
  for (int round = 0; listener_ && round < kMostRounds && accept_some(); ++round) {
  }
  stop_accepting();
}

void Server::close_idle() {
  // From the end: closing one moves the last into its place.
  for (std::size_t i = connections_.size(); i-- > 0;) {
    if (i >= connections_.size()) continue;
    Connection& connection = *connections_[i];
    if (!connection.is_idle()) continue;
    connection.on_ready(EPOLLIN);  // what came meanwhile is answered
    if (!connection.closed_ && connection.is_idle()) connection.close_after_flush();
  }
}

void Server::close_all() {
  while (!connections_.empty()) connections_.back()->close();
}

void Server::on_ready(std::uint32_t) { accept_some(); }

// Accepts a batch. True when there may be more.
bool Server::accept_some() {
  for (int i = 0; i < kAcceptBatch; ++i) {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    Fd fd(::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&name), &size,
                    SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      welcome(std::move(fd), peer_address(name));
      if (!listener_) return false;  // the session's beginning may have ended the accepting
    } else if (errno == EAGAIN) {
      return false;
    } else if (!concerns_one_connection(errno)) {
      ++accept_failures_;
      accept_later();
      return false;
    }
  }
  return true;
}

void Server::accept_later() {
  // Watching on would wake the loop up over and over for a connection that it cannot accept.
  loop_.unwatch(listener_.get(), this);
  accept_timer_ = loop_.timers().add(loop_.now() + kAcceptPause, *this);
}

void Server::welcome(Fd fd, const std::optional<Address>& peer) {
  if (connections_.size() >= limits_.max_connections) {
    ++refused_;
    return;
  }
  ++accepted_;
  if (peer) {
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  auto owned = std::make_unique<Connection>(*this, std::move(fd), peer);
  Connection& connection = *owned;
  connection.index_ = connections_.size();
  connections_.push_back(std::move(owned));
  connection.interest_ = EPOLLIN;
  connection.begin();
  if (connection.closed_) return;
  if (!loop_.watch(connection.fd_.get(), EPOLLIN, &connection)) return connection.close();
  connection.send();  // protocols in which the server speaks first
  connection.settle();
}

void Server::go_on_with(Connection& connection) {
  if (std::exchange(connection.resumed_, true)) return;
  resumed_.push_back(&connection);
  // A deadline that is due at once: it is met in this wake-up or makes the next one come now.
  if (resume_timer_.number == 0) resume_timer_ = loop_.timers().add(loop_.now(), *this);
}

void Server::on_timer(Instant now) {
  if (accept_timer_.number != 0 && accept_timer_.at <= now) {
    accept_timer_ = {};
    if (!loop_.watch(listener_.get(), kListenInterest, this)) accept_later();
  }
  if (resumed_.empty()) return;
  loop_.timers().cancel(resume_timer_);  // it may be the other one that brought us here
  resume_timer_ = {};
  going_on_.swap(resumed_);
  for (std::size_t i = 0; i < going_on_.size(); ++i) {
    Connection* connection = going_on_[i];
    if (connection == nullptr) continue;
    going_on_[i] = nullptr;
    connection->resumed_ = false;
    connection->offer_leftover();
    connection->send();
    connection->settle();
  }
  going_on_.clear();
}

void Server::remove(Connection& connection) {
  if (connection.resumed_) {
    for (auto* list : {&resumed_, &going_on_}) {
      for (Connection*& entry : *list) {
        if (entry == &connection) entry = nullptr;
      }
    }
  }
  const std::size_t index = connection.index_;
  std::unique_ptr<Connection> owned = std::move(connections_[index]);
  if (index + 1 != connections_.size()) {
    connections_[index] = std::move(connections_.back());
    connections_[index]->index_ = index;
  }
  connections_.pop_back();
  loop_.retire(std::unique_ptr<Watcher>(owned.release()));
}

}  // namespace suimon::net
