// The server over real sockets on 127.0.0.1, on a clock that the test moves.
#include "suimon/net/server.h"

#include "tests/net/server_scene.h"

namespace suimon::net {
namespace {

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
