// What stands before a session: PROXY headers and TLS handshakes, slow, broken and many.
#include "tests/net/tls_peer.h"

namespace suimon::net {
namespace {

constexpr std::string_view kHeader = "PROXY TCP4 203.0.113.9 192.0.2.1 56324 443\r\n";

std::optional<Address> address(std::string_view text) { return parse_address(text); }

class GreetingTest : public ServerTest {
 protected:
  GreetingTest() { std::signal(SIGPIPE, SIG_IGN); }

  Greeting proxied() {
    return {[this](const std::optional<Address>&) { return must_; }, nullptr, {}};
  }
  Greeting encrypted() {
    auto tls = Tls::load(certificate_.files());
    EXPECT_TRUE(tls) << tls.error().text;
    live_.install(*tls);
    return {{}, &live_, "\x08http/1.1"};
  }
  bool shake_hands(Client& client, TlsPeer& peer) {
    for (int i = 0; i < 8 && !peer.established(); ++i) {
      client.send(peer.step());
      work();
    }
    return peer.established();
  }

  bool must_ = true;
  CertificateFiles certificate_;
  LiveTls live_;
};

TEST_F(GreetingTest, TheSessionBeginsBehindThePROXYHeader) {
  start({}, proxied());
  Client client(address_);
  EXPECT_EQ(ask(client, std::string(kHeader) + "a\n"), "<a>\n");
  EXPECT_EQ(log_.proxied_client, address("203.0.113.9"));
  EXPECT_EQ(ask(client, "PROXY\n"), "<PROXY>\n") << "only once";
}

TEST_F(GreetingTest, APROXYHeaderMayComeByteByByte) {
  start({}, proxied());
  Client client(address_);
  for (const char c : kHeader) EXPECT_EQ(ask(client, {&c, 1}), "");
  EXPECT_EQ(ask(client, "a\n"), "<a>\n");
  EXPECT_EQ(log_.proxied_client, address("203.0.113.9"));
}

TEST_F(GreetingTest, AProxyThatSpeaksForItselfIsThePeer) {
  start({}, proxied());
  Client client(address_);
  EXPECT_EQ(ask(client, "PROXY UNKNOWN\r\na\n"), "<a>\n");
  EXPECT_FALSE(log_.proxied_client);
}

TEST_F(GreetingTest, WithoutAPROXYHeaderTheClientIsToldAndLetGo) {
  start({}, proxied());
  Client client(address_);
  EXPECT_EQ(ask(client, "GET / HTTP/1.1\r\n"), "<bad>\n");
  EXPECT_NE(log_.bad_header.find("must begin with a PROXY header"), std::string::npos);
  EXPECT_EQ(client.end(), "closed") << "and no reset";
  EXPECT_EQ(ask(client, "a\n"), "") << "nothing is handed over any more";
  EXPECT_EQ(log_.offered, 0);
  EXPECT_EQ(server_->failed_greetings(), 1U);
}

TEST_F(GreetingTest, WhetherAHeaderMustComeIsAskedForEachConnection) {
  start({}, proxied());
  must_ = false;
  Client plain(address_);
  EXPECT_EQ(ask(plain, "a\n"), "<a>\n");
  must_ = true;
  Client other(address_);
  EXPECT_EQ(ask(other, "a\n"), "<bad>\n");
  EXPECT_EQ(ask(plain, "b\n"), "<b>\n") << "who is here already stays";
}

TEST_F(GreetingTest, DrippingBytesDoNotMakeTheTimeForAHeaderLonger) {
  start({}, proxied());
  Client client(address_);
  work();
  for (int second = 0; second < 10; ++second) {
    client.send(kHeader.substr(static_cast<std::size_t>(second), 1));
    EXPECT_FALSE(client.closed()) << second;
    pass(seconds(1));
  }
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(server_->timed_out(), 1U);
}

TEST_F(GreetingTest, LinesGoThroughTLS) {
  start({}, encrypted());
  Client client(address_);
  TlsPeer peer(client);
  ASSERT_TRUE(shake_hands(client, peer));
  client.send(peer.encrypted("a\nb\n"));
  work();
  EXPECT_EQ(peer.read(), "<a>\n<b>\n");
  client.send(peer.encrypted("bye\n"));
  work();
  EXPECT_EQ(peer.read(), "<bye>\n");
  EXPECT_TRUE(peer.heard_goodbye());
  EXPECT_EQ(client.end(), "closed");
}

TEST_F(GreetingTest, ALargeAnswerThroughTLSWaitsForAClientThatReadsSlowly) {
  start({}, encrypted());
  Client client(address_, 4096);
  TlsPeer peer(client);
  ASSERT_TRUE(shake_hands(client, peer));
  client.send(peer.encrypted("big 1\nbig 2\nbig 3\n"));
  std::string all;
  work_until([&] {
    all += peer.read();
    return all.ends_with("<big 3>\n");
  });
  EXPECT_EQ(all.size(), 3 * ((1U << 20) + 8));
}

TEST_F(GreetingTest, APROXYHeaderStandsBeforeTLS) {
  Greeting both = encrypted();
  both.proxied = proxied().proxied;
  start({}, both);
  Client client(address_);
  TlsPeer peer(client);
  client.send(std::string(kHeader) + peer.step());  // in one packet
  work();
  ASSERT_TRUE(shake_hands(client, peer));
  EXPECT_EQ(log_.proxied_client, address("203.0.113.9"));
  client.send(peer.encrypted("a\n"));
  work();
  EXPECT_EQ(peer.read(), "<a>\n");

  Client without(address_);
  TlsPeer stranger(without);
  without.send(stranger.step());
  work();
  EXPECT_TRUE(without.closed());
  EXPECT_EQ(server_->failed_greetings(), 1U);
}

TEST_F(GreetingTest, AHandshakeHasTheTimeOfAHeader) {
  start({}, encrypted());
  Client silent(address_);
  Client half(address_);
  TlsPeer peer(half);
  work();
  half.send(peer.step().substr(0, 40));
  pass(milliseconds(9'999));
  EXPECT_FALSE(silent.closed());
  EXPECT_FALSE(half.closed());
  pass(milliseconds(1));
  EXPECT_TRUE(silent.closed());
  EXPECT_TRUE(half.closed());
  EXPECT_EQ(server_->timed_out(), 2U);
  EXPECT_EQ(server_->connections(), 0U);
}

// So end clients that do not believe the certificate: their alert may be lost in the reset.
TEST_F(GreetingTest, AHandshakeThatEndsInAResetIsCounted) {
  start({}, encrypted());
  Client client(address_);
  TlsPeer peer(client);
  client.send(peer.step());
  work();
  client.reset_connection();
  work();
  EXPECT_EQ(server_->connections(), 0U);
  EXPECT_EQ(server_->failed_greetings(), 1U);
}

TEST_F(GreetingTest, AfterTheHandshakeAClientMayBeIdleAsLongAsAnyOther) {
  start({}, encrypted());
  Client client(address_);
  TlsPeer peer(client);
  ASSERT_TRUE(shake_hands(client, peer));
  pass(seconds(59));
  client.send(peer.encrypted("a\n"));
  work();
  EXPECT_EQ(peer.read(), "<a>\n");
  pass(seconds(60));
  peer.read();
  EXPECT_TRUE(peer.heard_goodbye());
  EXPECT_EQ(client.end(), "closed");
}

TEST_F(GreetingTest, DrippingARecordOfTLSDoesNotMakeTheIdleTimeLonger) {
  start({}, encrypted());
  Client client(address_);
  TlsPeer peer(client);
  ASSERT_TRUE(shake_hands(client, peer));
  const std::string record = peer.encrypted("abcdefghijklmnop\n");
  for (std::size_t i = 0; i < 6; ++i) {
    client.send(record.substr(i, 1));
    work();
    EXPECT_FALSE(client.closed()) << i;
    pass(seconds(10));
  }
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(server_->timed_out(), 1U);
}

TEST_F(GreetingTest, PlainBytesOnATLSPortEndWithoutAReset) {
  start({}, encrypted());
  Client client(address_);
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  work();
  client.read();
  EXPECT_EQ(client.end(), "closed");
  EXPECT_EQ(server_->failed_greetings(), 1U);
  EXPECT_EQ(log_.offered, 0);
}

TEST_F(GreetingTest, BeyondSoManyGreetingsNewcomersAreClosedAndCounted) {
  ServerLimits limits;
  limits.max_greetings = 2;
  start(limits, encrypted());
  Client first(address_);
  TlsPeer peer(first);
  Client second(address_);
  Client third(address_);
  work();
  EXPECT_TRUE(third.closed());
  EXPECT_EQ(server_->refused(), 1U);
  ASSERT_TRUE(shake_hands(first, peer));  // which makes room
  Client fourth(address_);
  work();
  EXPECT_FALSE(fourth.closed());
  EXPECT_FALSE(second.closed());
}

TEST_F(GreetingTest, OneWakeUpGoesOnWithFewHandshakesAndTheNextWithTheRest) {
  start({}, encrypted());
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::unique_ptr<TlsPeer>> peers;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(std::make_unique<Client>(address_));
    peers.push_back(std::make_unique<TlsPeer>(*clients.back()));
  }
  work();
  for (std::size_t i = 0; i < clients.size(); ++i) clients[i]->send(peers[i]->step());
  const auto answered = [&] {
    return std::count_if(clients.begin(), clients.end(),
                         [](const auto& client) { return !client->read().empty(); });
  };
  loop_.poll_once(0);
  EXPECT_EQ(answered(), 16);
  work();
  EXPECT_EQ(answered(), 24);
}

TEST_F(GreetingTest, ADrainEndsHandshakesThatAreUnderWay) {
  start({}, encrypted());
  Client client(address_);
  TlsPeer peer(client);
  client.send(peer.step());
  work();
  server_->close_idle();
  work();
  client.shut_down();
  work();
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(GreetingTest, AClientOfAnotherProtocolIsRefusedByName) {
  Greeting greeting = encrypted();
  greeting.protocols = "\x02h2";
  start({}, greeting);
  Client client(address_);
  TlsPeer peer(client, "\x08http/1.1");
  EXPECT_FALSE(shake_hands(client, peer));
  Client other(address_);
  TlsPeer h2(other, "\x08http/1.1\x02h2");
  ASSERT_TRUE(shake_hands(other, h2));
  EXPECT_EQ(h2.protocol(), "h2");
}

}  // namespace
}  // namespace suimon::net
