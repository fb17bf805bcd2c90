// A link to a server that the test plays itself, on a clock that moves only when told to: pauses,
// time-outs, garbage and answers that nobody waits for.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <string>
#include <vector>

#include "suimon/net/address.h"
#include "suimon/store/redis/link.h"
#include "suimon/store/redis/single.h"

namespace suimon::redis {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Answer {
  int times = 0;
  Fate fate = Fate::answered;
  std::string text;
  std::int64_t integer = 0;
  Heard hook() {
    return {[](void* context, Fate its_fate, const Value& value) {
              auto& its = *static_cast<Answer*>(context);
              ++its.times;
              its.fate = its_fate;
              its.text = value.text;
              its.integer = value.integer;
            },
            this};
  }
};

class RedisLink : public testing::Test {
 protected:
  RedisLink() {
    listener_ = *net::open_listener(*net::parse_listen_address("127.0.0.1:0"), false);
    const auto address = *net::parse_listen_address(net::bound_address(listener_));
    endpoint_.host = address.host;
    endpoint_.port = address.port;
  }
  void open() {
    LinkOptions options;
    options.timeout = milliseconds(50);
    options.connect_timeout = milliseconds(100);
    servers_ = std::make_unique<SingleServer>(loop_, endpoint_, options);
    work();
  }
  void work() {
    for (int i = 0; i < 20; ++i) loop_.poll_once(0);
  }
  void pass(Duration time) {
    clock_.advance(time);
    work();
  }
  // Takes the connection that waits to be accepted. False when there is none.
  bool accept() {
    peer_ = net::Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const int on = 1;  // else the second of two small sends waits for real time to pass
    ::setsockopt(peer_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return static_cast<bool>(peer_);
  }
  // What has come since the last time.
  std::string heard() {
    std::string all(1 << 16, '\0');
    const auto got = ::recv(peer_.get(), all.data(), all.size(), 0);
    all.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return all;
  }
  void say(std::string_view bytes) {
    ASSERT_EQ(::send(peer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    work();
  }
  // From the connection to its first use.
  void greet() {
    ASSERT_TRUE(accept());
    EXPECT_NE(heard().find("SETNAME"), std::string::npos);
    say("+OK\r\n");
  }
  void run(Answer& answer) {
    const std::string_view keys[] = {"key"};
    servers_->run(0, script_, keys, {}, answer.hook());
  }
  const Counters& counters() { return servers_->counters(); }

  ManualClock clock_;
  net::Loop loop_{clock_};
  net::Fd listener_;
  net::Fd peer_;
  net::Endpoint endpoint_;
  Script script_{"return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"};
  std::unique_ptr<SingleServer> servers_;
};

TEST_F(RedisLink, CallsOfOneWakeUpLeaveInOneWriteAndAreAnsweredInOrder) {
  open();
  greet();
  Answer first, second;
  run(first);
  run(second);
  EXPECT_EQ(heard(), "");
  work();
  const std::string bytes = heard();
  EXPECT_NE(bytes.find("EVALSHA", bytes.find("EVALSHA") + 1), std::string::npos);
  say(":1\r\n:");
  EXPECT_EQ(first.integer, 1);
  EXPECT_EQ(second.times, 0);
  say("2\r\n");
  EXPECT_EQ(second.integer, 2);
}

TEST_F(RedisLink, CallWaitsForTheConnectionNoLongerThanItsTimeOut) {
  open();
  ASSERT_TRUE(accept());  // and says nothing
  Answer answer;
  run(answer);
  pass(milliseconds(50) - Duration(1));
  EXPECT_EQ(answer.times, 0);
  pass(Duration(1));
  EXPECT_EQ(answer.times, 1);
  EXPECT_EQ(answer.fate, Fate::not_run);
  heard();
  say("+OK\r\n");
  EXPECT_EQ(heard(), "") << "it is not sent afterwards";
}

TEST_F(RedisLink, AnswerThatDoesNotComeIsUnknownAndEndsTheConnection) {
  open();
  greet();
  Answer sent;
  run(sent);
  work();
  EXPECT_NE(heard(), "");
  pass(milliseconds(50));
  EXPECT_EQ(sent.times, 1);
  EXPECT_EQ(sent.fate, Fate::unknown);
  EXPECT_EQ(counters().failures, 1u);
  EXPECT_EQ(counters().timeouts + counters().failures, 2u);
  Answer next;
  run(next);
  pass(Link::kFirstPause * 2);
  ASSERT_TRUE(accept()) << "it dials again";
  EXPECT_EQ(next.fate, Fate::not_run) << "its time was up before";
}

TEST_F(RedisLink, LateAnswerIsNobodyElses) {
  open();
  ASSERT_TRUE(accept());
  Answer late;
  run(late);
  pass(milliseconds(40));
  heard();
  say("+OK\r\n");
  EXPECT_NE(heard(), "") << "sent after 40 ms";
  pass(milliseconds(10));
  EXPECT_EQ(late.fate, Fate::unknown) << "its own time is up";
  EXPECT_EQ(counters().failures, 0u) << "the connection has time left";
  Answer next;
  run(next);
  work();
  say(":1\r\n:2\r\n");
  EXPECT_EQ(late.times, 1);
  EXPECT_EQ(next.integer, 2);
}

TEST_F(RedisLink, GarbageAndAnswersToNothingEndTheConnection) {
  for (const char* bytes : {"garbage\r\n", ":1\r\n:2\r\n"}) {
    open();
    greet();
    Answer answer;
    run(answer);
    work();
    say(bytes);
    EXPECT_EQ(counters().failures, 1u);
    EXPECT_EQ(answer.times, 1);
    EXPECT_EQ(answer.fate, *bytes == 'g' ? Fate::unknown : Fate::answered);
    EXPECT_EQ(::recv(peer_.get(), nullptr, 0, MSG_PEEK | MSG_DONTWAIT), 0);
    servers_.reset();
  }
}

TEST_F(RedisLink, ReplicaIsLeftAfterTheAnswersThatAreUnderWay) {
  open();
  greet();
  Answer first, second;
  run(first);
  run(second);
  work();
  say("-READONLY You can't write against a read only replica.\r\n");
  Answer third;
  run(third);
  work();
  EXPECT_EQ(counters().failures, 1u);
  say(":2\r\n");
  EXPECT_EQ(second.integer, 2) << "what was sent is still waited for";
  EXPECT_EQ(first.times, 0);
  pass(milliseconds(50));
  EXPECT_EQ(first.fate, Fate::not_run);
  EXPECT_EQ(third.fate, Fate::not_run);
  pass(milliseconds(50));
  EXPECT_TRUE(accept()) << "and dialled again";
}

TEST_F(RedisLink, PausesGrowAndWhileTheBreakerIsOpenNobodyWaits) {
  open();
  for (int failures = 1; failures <= 9; ++failures) {
    ASSERT_TRUE(accept());
    peer_.reset();  // hangs up at once
    work();
    const Duration least =
        std::min<Duration>(Link::kFirstPause * (1 << (failures - 1)), Link::kLastPause);
    pass(least - Duration(1));
    EXPECT_FALSE(accept()) << "after " << failures;
    pass(least / 2 + Duration(1));
    EXPECT_EQ(counters().breakers_open, failures < 3 ? 0u : 1u);
  }
  ASSERT_TRUE(accept());
  EXPECT_EQ(counters().breakers_open, 1u);
  Answer answer;
  run(answer);
  EXPECT_EQ(answer.times, 0) << "never before run() returns";
  loop_.poll_once(0);
  EXPECT_EQ(answer.fate, Fate::not_run);
  EXPECT_EQ(answer.times, 1);
  EXPECT_EQ(counters().refused, 1u);
  heard();
  say("+OK\r\n");
  EXPECT_EQ(counters().breakers_open, 0u);
  Answer good;
  run(good);
  work();
  say(":1\r\n");
  EXPECT_EQ(good.integer, 1);
}

TEST_F(RedisLink, MoreCallsThanThereArePlacesAreRefused) {
  open();
  ASSERT_TRUE(accept());
  std::vector<Answer> answers(Link::kMostQueued + 10);
  for (Answer& answer : answers) run(answer);
  work();
  EXPECT_EQ(counters().refused, 10u);
  EXPECT_EQ(answers.back().fate, Fate::not_run);
  EXPECT_EQ(answers.front().times, 0);
  pass(milliseconds(50));
  for (const Answer& answer : answers) EXPECT_EQ(answer.times, 1);
}

}  // namespace
}  // namespace suimon::redis
