// A server, a protocol of lines and clients over real sockets on 127.0.0.1, on a clock that the
// test moves.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "suimon/net/address.h"
#include "suimon/net/server.h"

namespace suimon::net {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A protocol of lines: "text\n" is answered with "<text>\n"; some words do more.
struct LineSession : Session {
  struct Log {
    int offered = 0;  // calls of on_bytes
    int closed = 0;
    int timeouts = 0;
    bool answers_timeouts = false;
    std::size_t largest_offer = 0;
    std::vector<Connection*> answered;  // each once, while it is open or until the wake-up's end
    Connection* paused = nullptr;
    LineSession* paused_session = nullptr;
    std::string bad_header;                 // what was told about the last PROXY header
    std::optional<Address> proxied_client;  // of the last session
  };
  explicit LineSession(Log& to) : log(to) {}

  std::size_t on_bytes(std::string_view in, Connection& connection) override {
    ++log.offered;
    log.largest_offer = std::max(log.largest_offer, in.size());
    const std::size_t end = in.find('\n');
    if (end == std::string_view::npos) return 0;
    const std::string_view line = in.substr(0, end);
    if (line == "later") {
      busy = true;
      log.paused = &connection;
      log.paused_session = this;
      connection.pause();
      return end + 1;
    }
    if (std::find(log.answered.begin(), log.answered.end(), &connection) == log.answered.end()) {
      log.answered.push_back(&connection);
    }
    if (line.starts_with("big")) connection.out().append(1 << 20, 'b');
    connection.out().append("<").append(line).append(">\n");
    if (line == "bye") connection.close_after_flush();
    if (line == "die") connection.close();
    return end + 1;
  }
  void on_timeout(Connection& connection) override {
    ++log.timeouts;
    if (!log.answers_timeouts) return;
    connection.out() += "<late>\n";
    connection.close_after_flush();
  }
  void on_close() override { ++log.closed; }
  void on_bad_proxy_header(std::string_view mistake, Connection& connection) override {
    log.bad_header = mistake;
    connection.out().append("<bad>\n");
  }
  bool idle() const override { return !busy; }

  Log& log;
  bool busy = false;
};

class Client {
 public:
  explicit Client(const std::string& address, int receive_buffer = 0) {
    const auto to = *parse_listen_address(address);
    fd_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (receive_buffer > 0) {
      ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(to.port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    EXPECT_EQ(::fcntl(fd_.get(), F_SETFL, O_NONBLOCK), 0);
    const int on = 1;  // else the second of two small sends waits for real time to pass
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  // How many bytes the system took.
  std::size_t send(std::string_view bytes) {
    const auto put = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return put < 0 ? 0 : static_cast<std::size_t>(put);
  }
  void shut_down() { ::shutdown(fd_.get(), SHUT_WR); }

  // Reads all that is there; what ended the reading is in end().
  std::string read() {
    std::string all;
    std::vector<char> buffer(1 << 16);
    for (;;) {
      const auto got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
      end_ = got == 0 ? "closed" : got > 0 ? "" : errno == EAGAIN ? "open" : "reset";
      if (got <= 0) return all;
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }
  const std::string& end() const { return end_; }
  bool closed() {
    read();
    return end_ == "closed" || end_ == "reset";
  }
  void reset_connection() {
    const linger now{1, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    fd_.reset();
  }

 private:
  Fd fd_;
  std::string end_;
};

class ServerTest : public testing::Test {
 protected:
  void start(const ServerLimits& limits = {}, Greeting greeting = {}) {
    auto listener = open_listener(*parse_listen_address("127.0.0.1:0"), true);
    ASSERT_TRUE(listener) << listener.error().text;
    address_ = bound_address(*listener);
    server_ = std::make_unique<Server>(
        loop_, std::move(*listener),
        [this](Connection& connection) {
          log_.proxied_client = connection.proxied_client();
          return std::make_unique<LineSession>(log_);
        },
        limits, std::move(greeting));
  }
  // Wakes up until nothing more happens. (Bytes on the loopback arrive within the call that sends.)
  void work() {
    for (int i = 0; i < 20; ++i) loop_.poll_once(0);
  }
  // Works until all has arrived, a minute at most: behind a small window the system may let real
  // time pass before the next byte.
  template <class Arrived>
  void work_until(Arrived&& arrived) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!arrived() && std::chrono::steady_clock::now() < end) work();
  }
  void pass(Duration time) {
    clock_.advance(time);
    work();
  }
  std::string ask(Client& client, std::string_view bytes) {
    client.send(bytes);
    work();
    return client.read();
  }

  ManualClock clock_;
  Loop loop_{clock_};
  LineSession::Log log_;
  std::string address_;
  std::unique_ptr<Server> server_;
};

}  // namespace suimon::net
