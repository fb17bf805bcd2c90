// The server over real sockets on 127.0.0.1, on a clock that the test moves.
#include "suimon/net/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "suimon/net/address.h"

namespace suimon::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A protocol of lines: "text\n" is answered with "<text>\n"; some words do more.
struct LineSession : Session {
  struct Log {
    int offered = 0;  // calls of on_bytes
    int closed = 0;
    std::size_t largest_offer = 0;
    Connection* paused = nullptr;
    LineSession* paused_session = nullptr;
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
    if (line.starts_with("big")) connection.out().append(1 << 20, 'b');
    connection.out().append("<").append(line).append(">\n");
    if (line == "bye") connection.close_after_flush();
    if (line == "die") connection.close();
    return end + 1;
  }
  void on_close() override { ++log.closed; }
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
  void start(const ServerLimits& limits = {}) {
    auto listener = open_listener(*parse_listen_address("127.0.0.1:0"), true);
    ASSERT_TRUE(listener) << listener.error().text;
    address_ = bound_address(*listener);
    server_ = std::make_unique<Server>(
        loop_, std::move(*listener),
        [this](Connection&) { return std::make_unique<LineSession>(log_); }, limits);
  }
  // Wakes up until nothing more happens. (Bytes on the loopback arrive within the call that sends.)
  void work() {
    for (int i = 0; i < 20; ++i) loop_.poll_once(0);
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

TEST_F(ServerTest, RequestIsAnsweredAndTheConnectionKept) {
  start();
  Client client(address_);
  EXPECT_EQ(ask(client, "one\n"), "<one>\n");
  EXPECT_EQ(ask(client, "two\nthree\n"), "<two>\n<three>\n");
  EXPECT_EQ(client.end(), "open");
  EXPECT_EQ(server_->connections(), 1u);
  EXPECT_EQ(server_->accepted(), 1u);
}

TEST_F(ServerTest, RequestThatComesInPiecesIsOfferedFromItsBeginning) {
  start();
  Client client(address_);
  EXPECT_EQ(ask(client, "he"), "");
  EXPECT_EQ(ask(client, "ll"), "");
  EXPECT_EQ(ask(client, "o\nwor"), "<hello>\n");
  EXPECT_EQ(ask(client, "ld\n"), "<world>\n");
}

TEST_F(ServerTest, PeerIsTheClientsAddress) {
  std::optional<Address> peer;
  auto listener = open_listener(*parse_listen_address("127.0.0.1:0"), false);
  ASSERT_TRUE(listener);
  address_ = bound_address(*listener);
  Server server(loop_, std::move(*listener),
                [&](Connection& connection) {
                  peer = connection.peer();
                  return std::make_unique<LineSession>(log_);
                },
                {});
  Client client(address_);
  work();
  EXPECT_EQ(peer, parse_address("127.0.0.1"));
}

TEST_F(ServerTest, ClientThatHasSentAllStillGetsItsAnswer) {
  start();
  Client client(address_);
  client.send("last\n");
  client.shut_down();
  work();
  EXPECT_EQ(client.read(), "<last>\n");
  EXPECT_EQ(client.end(), "closed");
  EXPECT_EQ(log_.closed, 1);
}

TEST_F(ServerTest, ClientThatEndsInTheMiddleOfARequestIsClosed) {
  start();
  Client client(address_);
  client.send("half");
  client.shut_down();
  work();
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_EQ(server_->timed_out(), 0u);
}

TEST_F(ServerTest, ResetIsTheEnd) {
  start();
  Client client(address_);
  ask(client, "one\n");
  client.reset_connection();
  work();
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_EQ(log_.closed, 1);
}

TEST_F(ServerTest, LastAnswerArrivesAlthoughTheClientIsStillSending) {
  start();
  Client client(address_);
  client.send("bye\n" + std::string(200'000, 'x'));
  work();
  EXPECT_EQ(client.read(), "<bye>\n");
  EXPECT_EQ(client.end(), "closed") << "not reset";
  EXPECT_EQ(server_->connections(), 1u) << "the client has not closed yet";
  client.shut_down();
  work();
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(ServerTest, LingeringEndsAtItsTimeout) {
  start({.linger_timeout = seconds(2)});
  Client client(address_);
  EXPECT_EQ(ask(client, "bye\n"), "<bye>\n");
  pass(seconds(2) - Duration(1));
  EXPECT_EQ(server_->connections(), 1u);
  pass(Duration(1));
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_EQ(server_->timed_out(), 0u) << "a client that does not close first is not at fault";
}

TEST_F(ServerTest, SessionMayCloseInTheMiddleOfItsBytes) {
  start();
  Client client(address_);
  ask(client, "die\nmore\n");
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(log_.offered, 1);
  EXPECT_EQ(log_.closed, 1);
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(ServerTest, PausedConnectionGetsNoBytesUntilItIsResumed) {
  start();
  Client client(address_);
  EXPECT_EQ(ask(client, "later\nnext\n"), "");
  EXPECT_EQ(ask(client, "third\n"), "");
  EXPECT_EQ(log_.offered, 1);
  pass(seconds(3600));
  EXPECT_EQ(server_->connections(), 1u) << "a decision under way is nobody's delay but ours";

  log_.paused->out() += "<later>\n";
  log_.paused_session->busy = false;
  log_.paused->flush();
  EXPECT_EQ(client.read(), "<later>\n");
  log_.paused->resume();
  EXPECT_EQ(log_.offered, 1) << "resume() does not call the session itself";
  work();
  EXPECT_EQ(client.read(), "<next>\n<third>\n");
}

TEST_F(ServerTest, HalfClosedClientWaitsForADecisionThatIsUnderWay) {
  start();
  Client client(address_);
  client.send("later\n");
  client.shut_down();
  work();
  EXPECT_EQ(server_->connections(), 1u);
  log_.paused->out() += "<later>\n";
  log_.paused_session->busy = false;
  log_.paused->resume();
  log_.paused->flush();
  work();
  EXPECT_EQ(client.read(), "<later>\n");
  EXPECT_EQ(client.end(), "closed");
}

TEST_F(ServerTest, ConnectionThatIsClosedWhileResumedIsForgotten) {
  start();
  Client client(address_);
  ask(client, "later\nnext\n");
  log_.paused->resume();
  log_.paused->close();
  work();
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_EQ(log_.offered, 1);
}

// ------------------------------------------------------------------ time

TEST_F(ServerTest, IdleConnectionIsClosedAtItsTimeoutAndNotBefore) {
  start({.idle_timeout = seconds(60)});
  Client client(address_);
  work();
  pass(seconds(59));
  EXPECT_EQ(ask(client, "one\n"), "<one>\n");
  pass(seconds(60) - Duration(1));
  EXPECT_FALSE(client.closed());
  pass(Duration(1));
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(server_->timed_out(), 1u);
}

TEST_F(ServerTest, DrippingBytesDoNotExtendTheTimeForARequest) {
  start({.header_timeout = seconds(10)});
  Client client(address_);
  work();
  pass(seconds(30));
  for (int second = 0; second < 10; ++second) {
    ask(client, "x");
    EXPECT_FALSE(client.closed()) << second;
    pass(seconds(1));
  }
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(server_->timed_out(), 1u);
}

TEST_F(ServerTest, NextRequestHasItsOwnTime) {
  start({.header_timeout = seconds(10)});
  Client client(address_);
  ask(client, "a");
  pass(seconds(9));
  EXPECT_EQ(ask(client, "a\nb"), "<aa>\n");
  pass(seconds(9));
  EXPECT_EQ(ask(client, "b\n"), "<bb>\n");
  pass(seconds(9));
  EXPECT_FALSE(client.closed()) << "between requests the idle timeout counts";
}

TEST_F(ServerTest, ClientThatDoesNotReadIsNotReadAndClosedAtTheWriteTimeout) {
  start({.max_in_bytes = 1 << 20, .max_out_bytes = 3 << 20, .write_timeout = seconds(30)});
  Client client(address_, 4096);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "big\n";  // a gigabyte of answers
  client.send(many);
  work();
  EXPECT_LE(log_.offered, 12) << "answers beyond max_out_bytes are not made";
  pass(seconds(30) - Duration(1));
  EXPECT_EQ(server_->connections(), 1u);
  pass(Duration(1));
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_EQ(server_->timed_out(), 1u);
}

TEST_F(ServerTest, SlowReaderGetsEverythingInOrder) {
  start({.max_out_bytes = 2 << 20});
  Client client(address_, 64 << 10);
  std::string many;
  for (int i = 0; i < 8; ++i) many += "big" + std::to_string(i) + "\n";
  client.send(many);
  std::string answer;
  for (int i = 0; i < 10'000 && answer.size() < (8u << 20) + 8 * 7; ++i) {
    loop_.poll_once(5);
    clock_.advance(milliseconds(20));  // far more than write_timeout in all, but it reads
    answer += client.read();
  }
  ASSERT_EQ(answer.size(), (8u << 20) + 8 * 7);
  std::string marks;
  for (const char c : answer) {
    if (c >= '0' && c <= '9') marks += c;
  }
  EXPECT_EQ(marks, "01234567");
  EXPECT_EQ(ask(client, "still here\n"), "<still here>\n");
}

// ---------------------------------------------------------------- bounds

TEST_F(ServerTest, RequestThatNeverEndsIsClosedAtTheBound) {
  start({.max_in_bytes = 1000});
  Client client(address_);
  ask(client, std::string(1000, 'x'));
  EXPECT_FALSE(client.closed());
  ask(client, "x");
  EXPECT_TRUE(client.closed());
}

TEST_F(ServerTest, ConnectionsBeyondTheBoundAreClosedAndCounted) {
  start({.max_connections = 2});
  Client first(address_), second(address_), third(address_);
  work();
  EXPECT_EQ(server_->connections(), 2u);
  EXPECT_EQ(server_->refused(), 1u);
  EXPECT_TRUE(third.closed());
  EXPECT_EQ(ask(first, "one\n"), "<one>\n");
  first.reset_connection();
  work();
  Client fourth(address_);
  EXPECT_EQ(ask(fourth, "four\n"), "<four>\n");
}

TEST_F(ServerTest, WithoutDescriptorsAcceptingRestsAndGoesOnLater) {
  start();
  Client early(address_);
  EXPECT_EQ(ask(early, "early\n"), "<early>\n");
  Client waiting(address_);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // The lowest free descriptor becomes the limit, so the next one cannot be had.
  const int lowest = ::dup(0);
  ASSERT_GE(lowest, 0);
  ::close(lowest);
  const rlimit none{static_cast<rlim_t>(lowest), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  work();
  EXPECT_EQ(server_->accept_failures(), 1u) << "one try, not one a wake-up";
  EXPECT_EQ(ask(early, "served\n"), "<served>\n");
  pass(milliseconds(100));
  EXPECT_EQ(server_->accept_failures(), 2u);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  pass(milliseconds(100));
  EXPECT_EQ(ask(waiting, "at last\n"), "<at last>\n");
}

TEST_F(ServerTest, ManyConnectionsAreAcceptedAndServed) {
  start();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(std::make_unique<Client>(address_));
  work();
  EXPECT_EQ(server_->connections(), 200u);
  for (auto& client : clients) client->send("x\n");
  work();
  for (auto& client : clients) EXPECT_EQ(client->read(), "<x>\n");
  for (std::size_t i = 0; i < clients.size(); i += 2) clients[i].reset();
  work();
  EXPECT_EQ(server_->connections(), 100u);
}

// ----------------------------------------------------------------- drain

TEST_F(ServerTest, DrainClosesTheIdleAndLetsTheOthersFinish) {
  start();
  Client idle(address_), half(address_), busy(address_);
  ask(idle, "one\n");
  ask(half, "ha");
  ask(busy, "later\n");
  server_->stop_accepting();
  server_->close_idle();
  work();
  EXPECT_TRUE(idle.closed());
  EXPECT_FALSE(half.closed());
  EXPECT_FALSE(busy.closed());
  EXPECT_EQ(server_->connections(), 2u);
  EXPECT_EQ(ask(half, "lf\n"), "<half>\n");
  log_.paused->out() += "<later>\n";
  log_.paused->close_after_flush();
  EXPECT_EQ(busy.read(), "<later>\n");
  EXPECT_EQ(busy.end(), "closed");

  const auto again = open_listener(*parse_listen_address(address_), false);
  EXPECT_TRUE(again) << "the listener is closed";
}

TEST_F(ServerTest, DestroyedServerClosesItsConnections) {
  start();
  Client client(address_), paused(address_);
  ask(client, "one\n");
  ask(paused, "later\nnext\n");
  log_.paused->resume();
  server_.reset();
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(log_.closed, 2);
  work();
}

// ------------------------------------------------------------------ unix

TEST(UnixServer, TwoLoopsShareOneSocketAndItsClientsHaveNoAddress) {
  std::string pattern = testing::TempDir() + "suimon-net-XXXXXX";
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const auto address = *parse_listen_address("unix:" + pattern + "/s");
  ManualClock clock;
  Loop first(clock), second(clock);
  LineSession::Log log;
  bool had_address = false;
  const SessionFactory sessions = [&](Connection& connection) {
    had_address = had_address || connection.peer().has_value();
    return std::make_unique<LineSession>(log);
  };
  {
    auto listener = open_listener(address, false);
    ASSERT_TRUE(listener) << listener.error().text;
    const SocketFile file(address);
    auto shared = share(*listener);
    ASSERT_TRUE(shared);
    Server a(first, std::move(*listener), sessions, {});
    Server b(second, std::move(*shared), sessions, {});
    const auto connect = [&] {
      Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_storage name{};
      name.ss_family = AF_UNIX;
      address.path.copy(reinterpret_cast<char*>(&name) + sizeof(sa_family_t), 107);
      EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name),
                          static_cast<socklen_t>(sizeof(sa_family_t) + address.path.size() + 1)),
                0);
      EXPECT_EQ(::send(fd.get(), "x\n", 2, MSG_NOSIGNAL), 2);
      return fd;
    };
    const Fd one = connect();
    first.poll_once(0);
    first.poll_once(0);
    const Fd two = connect();
    second.poll_once(0);
    second.poll_once(0);
    EXPECT_EQ(a.accepted(), 1u);
    EXPECT_EQ(b.accepted(), 1u);
    for (const Fd* fd : {&one, &two}) {
      std::array<char, 8> answer{};
      EXPECT_EQ(::recv(fd->get(), answer.data(), answer.size(), MSG_DONTWAIT), 4);
      EXPECT_EQ(std::string(answer.data()), "<x>\n");
    }
    EXPECT_FALSE(had_address);
  }
  EXPECT_EQ(::rmdir(pattern.c_str()), 0) << "the socket's file is gone";
}

}  // namespace
}  // namespace suimon::net
