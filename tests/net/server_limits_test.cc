// What the server allows: time, memory, connections; and how it ends.
#include <sys/resource.h>

#include "tests/net/server_scene.h"

namespace suimon::net {
namespace {

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

TEST_F(ServerTest, WhoIsTooSlowWithARequestIsToldSoAndThenClosed) {
  start({.header_timeout = seconds(10), .linger_timeout = seconds(2)});
  log_.answers_timeouts = true;
  Client slow(address_);
  Client idle(address_);
  ask(slow, "half");
  ask(idle, "one\n");
  pass(seconds(10));
  EXPECT_EQ(slow.read(), "<late>\n");
  EXPECT_EQ(slow.end(), "closed");
  EXPECT_EQ(log_.timeouts, 1);
  EXPECT_EQ(server_->timed_out(), 1u);
  ask(slow, " of it\n");  // too late: it is not handed over
  EXPECT_EQ(slow.read(), "");
  pass(seconds(2));
  EXPECT_EQ(server_->connections(), 1u) << "a client that stays is not waited for";
  pass(seconds(48));
  EXPECT_EQ(idle.read(), "") << "an idle connection ends without a word";
  EXPECT_EQ(idle.end(), "closed");
  EXPECT_EQ(log_.timeouts, 1);
  EXPECT_EQ(server_->timed_out(), 2u);
}

TEST_F(ServerTest, WhoHasHungUpInTheMiddleIsNotToldAboutTheTime) {
  start({.header_timeout = seconds(10)});
  log_.answers_timeouts = true;
  Client client(address_);
  ask(client, "half");
  client.reset_connection();
  work();
  pass(seconds(10));
  EXPECT_EQ(log_.timeouts, 0);
  EXPECT_EQ(server_->connections(), 0u);
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

TEST_F(ServerTest, WhoFillsTheLastBuffersIsClosedAndSmallOnesAreServed) {
  ServerLimits limits;
  limits.max_buffered_bytes = 3 << 20;
  start(limits);
  std::vector<std::unique_ptr<Client>> greedy;
  for (int i = 0; i < 8; ++i) {
    greedy.push_back(std::make_unique<Client>(address_, 4096));
    greedy.back()->send("big\nbig\nbig\nbig\nbig\nbig\nbig\nbig\n");  // and reads nothing
    work();
  }
  EXPECT_GT(server_->refused(), 0u);
  EXPECT_LT(server_->connections(), 8u);
  Client small(address_);
  EXPECT_EQ(ask(small, "still\n"), "<still>\n");
}

TEST_F(ServerTest, WhoIsClosedForWantOfBuffersGivesThemUpInTheSameWakeUp) {
  ServerLimits limits;
  limits.max_buffered_bytes = limits.max_out_bytes = limits.turn_bytes = 8 << 20;
  start(limits);
  std::vector<std::unique_ptr<Client>> greedy;
  for (int i = 0; i < 16; ++i) greedy.push_back(std::make_unique<Client>(address_, 4096));
  work();
  for (const auto& client : greedy) {
    client->send("big\nbig\nbig\nbig\nbig\nbig\nbig\nbig\n");  // and reads nothing
  }
  std::size_t held = 0;
  loop_.post([&] {  // those that were closed are still there
    for (Connection* connection : log_.answered) held += connection->out().capacity();
  });
  loop_.poll_once(0);
  EXPECT_EQ(log_.answered.size(), 16u);
  EXPECT_GT(server_->refused(), 0u);
  EXPECT_LE(held, 4 * limits.max_buffered_bytes);  // a buffer has room for twice what is in it
}

TEST_F(ServerTest, ALongTurnIsDividedAndOthersComeInBetween) {
  ServerLimits limits;
  limits.max_out_bytes = 64 << 20;
  limits.turn_bytes = 1 << 20;
  start(limits);
  Client greedy(address_, 4096), other(address_);
  work();
  std::string many;
  for (int i = 0; i < 30; ++i) many += "big\n";
  greedy.send(many);
  other.send("here\n");
  loop_.poll_once(0);
  EXPECT_EQ(other.read(), "<here>\n");
  EXPECT_LE(log_.offered, 4);  // of those the other's is one
  greedy.send("ok\n");         // is not read before the rest was answered
  const std::size_t all = 30 * ((1U << 20) + 6) + 5;
  std::size_t got = 0;
  work_until([&] {
    got += greedy.read().size();
    return got >= all;
  });
  EXPECT_EQ(got, all);
  EXPECT_EQ(log_.largest_offer, many.size());
}

// ----------------------------------------------------------------- drain

TEST_F(ServerTest, DrainClosesTheIdleAndLetsTheOthersFinish) {
  start();
  Client idle(address_), half(address_), busy(address_);
  ask(idle, "one\n");
  ask(half, "ha");
  ask(busy, "later\n");
  Client waiting(address_);
  waiting.send("first\n");
  Client quick(address_);
  ask(quick, "one\n");
  quick.send("two\n");  // arrives before the end is known
  server_->finish_accepting();
  server_->close_idle();
  work();
  EXPECT_TRUE(idle.closed());
  EXPECT_EQ(waiting.read(), "<first>\n");
  EXPECT_EQ(quick.read(), "<two>\n");
  EXPECT_FALSE(half.closed());
  EXPECT_FALSE(busy.closed());
  for (Client* client : {&idle, &waiting, &quick}) client->shut_down();
  work();
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

}  // namespace
}  // namespace suimon::net
