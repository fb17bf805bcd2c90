#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "suimon/net/server.h"

namespace suimon::net {
namespace {

// After the last answer, a client may have this much under way that nobody wants.
constexpr std::size_t kMaxDrained = 1 << 20;
// A larger output buffer is not kept for the next answer.
constexpr std::size_t kMaxSpare = 256 << 10;
// A connection with no more in its buffers is never closed for the sake of others.
constexpr std::size_t kSmall = 64 << 10;
constexpr std::uint32_t kInput = EPOLLIN;
constexpr std::uint32_t kOutput = EPOLLOUT;

}  // namespace

Connection::Connection(Server& server, Fd fd, const std::optional<Address>& peer)
    : server_(server), fd_(std::move(fd)), peer_(peer) {}

Connection::~Connection() = default;

std::string& Connection::out() {
  if (out_.empty() && out_.capacity() < server_.spare_.capacity()) out_.swap(server_.spare_);
  return out_;
}

void Connection::flush() {
  if (in_session_ || closed_) return;  // on_bytes ends with one send for everything
  send();
  settle();
}

void Connection::close_after_flush() {
  closing_ = true;
  flush();
}

void Connection::close() {
  if (std::exchange(closed_, true)) return;
  if (tls_) tls_->say_goodbye();
  loop().unwatch(fd_.get(), this);
  loop().timers().cancel(timer_);
  fd_.reset();
  server_.buffered_ -= std::exchange(buffered_, 0);
  if (stage_ != Stage::session) end_greeting();
  if (session_) session_->on_close();
  server_.remove(*this);
}

void Connection::resume() {
  if (!std::exchange(paused_, false) || closed_ || in_session_) return;
  server_.go_on_with(*this);
}

bool Connection::full() const { return unsent() >= server_.limits_.max_out_bytes; }

bool Connection::wants_input() const {
  if (ended_) return false;
  return closing_ ? drained_ < kMaxDrained : !paused_ && !held_back_ && !full();
}

void Connection::on_ready(std::uint32_t events) {
  if ((events & EPOLLERR) != 0) {
    if (stage_ == Stage::handshake) ++server_.failed_greetings_;
    return close();
  }
  if (greeting()) {
    greet();
  } else if ((events & (EPOLLIN | EPOLLHUP)) != 0 || (tls_ && tls_->wants_output())) {
    if (wants_input()) {
      receive();
    } else {
      // Only now: most pauses end before more bytes come, and then cost no system call.
      set_interest(interest_ & ~kInput);
    }
  }
  if (closed_) return;
  // Both directions are shut: what we would still send cannot arrive.
  if ((events & EPOLLHUP) != 0) return close();
  send();
  settle();
}

void Connection::receive() {
  const std::span<char> scratch = loop().scratch();
  // What comes after the last answer is thrown away as it is.
  const auto got = tls_ && !closing_ ? tls_->read(scratch)
                                     : ::recv(fd_.get(), scratch.data(), scratch.size(), 0);
  if (got < 0) {
    if (errno != EAGAIN && errno != EINTR) close();
    return;
  }
  if (got == 0) {
    ended_ = true;
    return;
  }
  const std::string_view bytes(scratch.data(), static_cast<std::size_t>(got));
  if (closing_) {
    drained_ += bytes.size();
  } else if (in_.empty()) {
    const std::size_t used = hand_over(bytes);
    if (!closing_ && !closed_) in_.assign(bytes.substr(used));
  } else {
    in_.append(bytes);
    offer_leftover();
  }
  if (!closed_ && in_.size() > server_.limits_.max_in_bytes) close();
}

std::size_t Connection::hand_over(std::string_view in) {
  std::size_t used = 0;
  const std::size_t turn = unsent() + server_.limits_.turn_bytes;
  const auto has_its_turn = [&] { return !paused_ && !closing_ && !closed_; };
  const auto has_enough = [&] { return full() || unsent() >= turn; };
  in_session_ = true;
  while (used < in.size() && has_its_turn() && !has_enough()) {
    const std::size_t step = session_->on_bytes(in.substr(used), *this);
    assert(step <= in.size() - used);
    if (step == 0) break;
    used += step;
  }
  in_session_ = false;
  held_back_ = used < in.size() && has_its_turn() && has_enough();
  consumed_ = consumed_ || used > 0;
  return used;
}

void Connection::offer_leftover() {
  if (in_.empty()) return;
  const std::size_t used = hand_over(in_);
  if (closed_) return;
  if (used == in_.size() || closing_) {
    std::string().swap(in_);  // an idle connection keeps no memory
  } else {
    in_.erase(0, used);
  }
}

void Connection::send() {
  if (unsent() == 0 || closed_) return;
  const std::string_view rest = std::string_view(out_).substr(out_at_);
  const auto put =
      tls_ ? tls_->write(rest) : ::send(fd_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
  if (put < 0) {
    if (errno != EAGAIN && errno != EINTR) close();
    return;
  }
  sent_ = sent_ || put > 0;
  out_at_ += static_cast<std::size_t>(put);
  if (unsent() == 0) {
    out_.clear();
    out_at_ = 0;
    if (out_.capacity() <= kMaxSpare) out_.swap(server_.spare_);
    std::string().swap(out_);
  } else if (out_at_ > unsent()) {
    out_.erase(0, out_at_);
    out_at_ = 0;
  }
}

// Keeps the sum of all buffers. False when it is used up and this connection is one of the large.
bool Connection::account() {
  const std::size_t now = in_.size() + out_.size();
  server_.buffered_ += now - std::exchange(buffered_, now);
  return now <= kSmall || server_.buffered_ <= server_.limits_.max_buffered_bytes;
}

// Brings interest and deadline in line with the state; every way through the connection ends here.
void Connection::settle() {
  if (closed_) return;
  if (!account()) {
    ++server_.refused_;
    close();
    // We live until the end of the wake-up, and the others of it need the room now.
    std::string().swap(in_);
    std::string().swap(out_);
    return;
  }
  if (greeting()) return settle_greeting();
  if (held_back_ && !full()) server_.go_on_with(*this);
  const bool stuck = !in_.empty() && !paused_ && !resumed_;  // half a request
  if (unsent() == 0 && closing_ && !lingering_) {
    if (tls_) tls_->say_goodbye();
    if (ended_) return close();
    lingering_ = true;
    ::shutdown(fd_.get(), SHUT_WR);
  } else if (unsent() == 0 && ended_ &&
             (lingering_ || stuck || (in_.empty() && session_->idle()))) {
    return close();
  }
  std::uint32_t interest = interest_ & ~kOutput;
  if (wants_output()) interest |= kOutput;
  if (wants_input()) interest |= kInput;
  set_interest(interest);

  const bool consumed = std::exchange(consumed_, false);
  const bool sent = std::exchange(sent_, false);
  if (lingering_) return wait_for(Wait::client_closes, false);
  if (unsent() > 0) return wait_for(Wait::client_reads, sent);
  if (paused_ || resumed_) return wait_for(Wait::decision, false);
  // Dripping bytes do not make an incomplete request's time longer.
  if (!in_.empty()) return wait_for(Wait::rest_of_request, consumed);
  // Bytes of TLS that bring nothing do not make the time longer.
  wait_for(Wait::request, consumed || sent);
}

void Connection::set_interest(std::uint32_t interest) {
  if (interest == interest_) return;
  interest_ = interest;
  if (!loop().modify(fd_.get(), interest, this)) close();
}

Duration Connection::timeout(Wait wait) const {
  switch (wait) {
    case Wait::rest_of_request:
      return server_.limits_.header_timeout;
    case Wait::request:
      return server_.limits_.idle_timeout;
    case Wait::client_reads:
      return server_.limits_.write_timeout;
    case Wait::client_closes:
      return server_.limits_.linger_timeout;
    case Wait::decision:
      break;
  }
  return Duration::max();
}

void Connection::wait_for(Wait wait, bool anew) {
  if (wait == wait_ && !anew) return;
  wait_ = wait;
  deadline_ = wait == Wait::decision ? Instant::max() : loop().now() + timeout(wait);
  if (closed_ || deadline_ == Instant::max()) return;
  if (timer_.number != 0 && timer_.at <= deadline_) return;
  loop().timers().cancel(timer_);
  timer_ = loop().timers().add(deadline_, *this);
}

void Connection::on_timer(Instant now) {
  timer_ = {};
  if (deadline_ <= now) {
    if (wait_ != Wait::client_closes) ++server_.timed_out_;
    if (wait_ != Wait::rest_of_request || ended_ || greeting()) return close();
    in_session_ = true;
    session_->on_timeout(*this);
    in_session_ = false;
    if (!closing_ || closed_) return close();
    std::string().swap(in_);
    send();
    return settle();
  }
  if (deadline_ != Instant::max()) timer_ = loop().timers().add(deadline_, *this);
}

}  // namespace suimon::net
