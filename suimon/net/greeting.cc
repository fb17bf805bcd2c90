// What stands before a session on a connection: a PROXY header, then a TLS handshake.
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "suimon/net/proxy_protocol.h"
#include "suimon/net/server.h"

namespace suimon::net {
namespace {

// A handshake costs as much as hundreds of requests. One wake-up goes on with at most so many, and
// the others wait for the next, so that those who are here already are served in between.
constexpr unsigned kHandshakesPerWake = 16;

}  // namespace

bool Server::may_shake_hands() {
  if (std::exchange(handshakes_wake_, loop_.wake_number()) != loop_.wake_number()) handshakes_ = 0;
  return ++handshakes_ <= kHandshakesPerWake;
}

// The first thing that happens to a connection.
void Connection::begin() {
  const Greeting& greeting = server_.greeting_;
  if (greeting.tls != nullptr) {
    tls_ = std::make_unique<TlsStream>(*greeting.tls->current(), fd_.get(), greeting.protocols);
    stage_ = Stage::handshake;
  }
  if (greeting.proxied && greeting.proxied(peer_)) stage_ = Stage::proxy_header;
  if (stage_ == Stage::session) return open_session();
  ++server_.greetings_;
  if (server_.greetings_ > server_.limits_.max_greetings) {
    ++server_.refused_;
    close();
  }
}

void Connection::end_greeting() {
  stage_ = Stage::session;
  --server_.greetings_;
}

void Connection::open_session() {
  in_session_ = true;
  session_ = server_.sessions_(*this);
  in_session_ = false;
}

// Goes on with the greeting as far as the bytes that have come allow.
void Connection::greet() {
  if (stage_ == Stage::proxy_header) read_proxy_header();
  if (closed_ || closing_) return;
  if (stage_ == Stage::handshake) shake_hands();
}

void Connection::read_proxy_header() {
  // What stands behind the header is TLS's or the session's, so the bytes are looked at first and
  // only those of the header are taken.
  const std::size_t room = ProxyHeader::kMostBytes - in_.size();
  const std::span<char> scratch = loop().scratch().first(room);
  const auto seen = ::recv(fd_.get(), scratch.data(), scratch.size(), MSG_PEEK);
  if (seen < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (seen <= 0) return close();
  const std::size_t before = in_.size();
  in_.append(scratch.data(), static_cast<std::size_t>(seen));
  const ProxyHeader header = parse_proxy_header(in_);
  if (header.status == ProxyHeader::Status::bad) return refuse_proxy_header(header.mistake);
  const bool whole = header.status == ProxyHeader::Status::good;
  const std::size_t ours = (whole ? header.length : in_.size()) - before;
  const auto taken = ::recv(fd_.get(), scratch.data(), ours, 0);
  if (taken != static_cast<ssize_t>(ours)) return close();
  if (!whole) return;
  std::string().swap(in_);
  proxied_client_ = header.client;
  if (tls_) {
    stage_ = Stage::handshake;
  } else {
    end_greeting();
    open_session();
  }
}

void Connection::refuse_proxy_header(std::string_view mistake) {
  ++server_.failed_greetings_;
  end_greeting();
  std::string().swap(in_);
  if (std::exchange(tls_, nullptr)) {  // who began with neither cannot be told in TLS
    closing_ = true;
    return;
  }
  open_session();
  if (closed_) return;
  in_session_ = true;
  session_->on_bad_proxy_header(mistake, *this);
  in_session_ = false;
  closing_ = true;
}

void Connection::shake_hands() {
  if (!server_.may_shake_hands()) return;
  switch (tls_->shake_hands()) {
    case TlsStream::Handshake::going_on:
      return;
    case TlsStream::Handshake::done:
      end_greeting();
      return open_session();
    case TlsStream::Handshake::failed:
      break;
  }
  // OpenSSL has said why, if the client can understand it. What it still sends is thrown away, so
  // that it sees an end and no reset.
  ++server_.failed_greetings_;
  end_greeting();
  tls_.reset();
  closing_ = true;
}

// A greeting waits for bytes, and not longer than for a request's header.
void Connection::settle_greeting() {
  const bool output = stage_ == Stage::handshake && tls_->wants_output();
  set_interest(output ? EPOLLOUT : EPOLLIN);
  if (!closed_) wait_for(Wait::rest_of_request, false);
}

}  // namespace suimon::net
