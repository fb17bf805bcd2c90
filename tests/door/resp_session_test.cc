// The Redis protocol's door over real sockets, on a clock that the test moves.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "suimon/door/resp/session.h"
#include "suimon/policy/loader.h"
#include "suimon/store/stores.h"
#include "tests/net/server_scene.h"

namespace suimon::door {
namespace {

using namespace std::chrono_literals;

// Passes takes on, at once or when told to, and counts them.
class RemoteStore final : public Store {
 public:
  explicit RemoteStore(Store& inner) : inner_(inner) {}
  std::string_view name() const override { return "remote"; }
  Result<void> adopt(std::span<const Shape* const> shapes) override { return inner_.adopt(shapes); }
  StoreFigures figures() const override { return inner_.figures(); }
  void forget(std::span<const Shape* const> shapes) override { inner_.forget(shapes); }

  void take(std::span<Group> groups, Instant now, Done done) override {
    ++takes;
    largest = std::max(largest, groups.size());
    if (!later) return inner_.take(groups, now, done);
    groups_ = groups;
    now_ = now;
    done_ = done;
    ++waiting;
  }
  void answer(bool works = true) {
    --waiting;
    if (works) inner_.take(groups_, now_, {[](void*, const Result<void>&) {}, nullptr});
    for (Group& group : groups_) group.failed = !works;
    done_.run(done_.context, works ? Result<void>{} : Result<void>(failure("gone")));
  }
  // Decides all groups but the first.
  void answer_all_but_one() {
    --waiting;
    inner_.take(groups_.subspan(1), now_, {[](void*, const Result<void>&) {}, nullptr});
    groups_[0].failed = true;
    done_.run(done_.context, {});
  }

  bool later = false;
  int takes = 0;
  int waiting = 0;
  std::size_t largest = 0;

 private:
  Store& inner_;
  std::span<Group> groups_;
  Instant now_;
  Done done_;
};

class RespDoor : public testing::Test {
 protected:
  RespDoor() : inner_(std::move(*open_store("memory://?max_keys=1000"))), store_(*inner_) {
    open("");
  }

  void open(std::string_view password) {
    if (!password.empty()) password_ = RespPassword(password);
    client_.reset();
    server_.reset();
    loop_ = std::make_unique<net::Loop>(clock_);
    Loaded loaded = load_policy_text(
        "version: 1\ndomain: d\nlimits:\n"
        "  - {name: each, key: [user], token_bucket: {capacity: 2, refill: 1/min}}\n",
        "p.yaml");
    EXPECT_TRUE(live_.install(std::move(loaded.policy), clock_.now()));
    engine_ = std::make_unique<Engine>(live_, store_, counters_, clock_);
    auto listener = net::open_listener(*net::parse_listen_address("127.0.0.1:0"), true);
    address_ = net::bound_address(*listener);
    server_ = std::make_unique<RespServer>(*loop_, std::move(*listener), *engine_, counters_,
                                           DoorId{0}, password_, net::ServerLimits{});
    client_ = std::make_unique<net::Client>(address_);
  }

  std::string send(std::string_view bytes) {
    client_->send(bytes);
    return work();
  }
  std::string work() {
    std::string all;
    for (int i = 0; i < 4; ++i) {
      loop_->poll_once(0);
      if (client_ != nullptr) all += client_->read();
    }
    return all;
  }
  bool closed() {
    work();
    return client_->closed();
  }

  ManualClock clock_{Instant(1h)};
  std::unique_ptr<Store> inner_;
  RemoteStore store_;
  LivePolicy live_{store_, Secret{{1, 2}}};
  LoopCounters counters_;
  RespPassword password_;
  std::unique_ptr<net::Loop> loop_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RespServer> server_;
  std::string address_;
  std::unique_ptr<net::Client> client_;
};

TEST_F(RespDoor, ARealClientsHandshakeAndItsFirstCallInOnePipeline) {
  const std::string got = send(
      "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"
      "*4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$8\r\nLIB-NAME\r\n$1\r\nx\r\n"
      "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$1\r\ny\r\n"
      "*1\r\n$4\r\nPING\r\n"
      "*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$1\r\n2\r\n$1\r\n1\r\n$2\r\n60\r\n"
      "HELLO 2\r\nNOSUCH a\r\nPING\r\n");
  EXPECT_EQ(got.substr(0, 12), "%7\r\n$6\r\nserv");
  const auto at = got.find("+OK\r\n+OK\r\n+PONG\r\n*5\r\n:0\r\n:3\r\n:2\r\n:-1\r\n:60\r\n*14\r\n");
  EXPECT_NE(at, std::string::npos) << got;
  EXPECT_TRUE(
      got.ends_with("-ERR unknown command 'NOSUCH', with args beginning with: 'a' \r\n+PONG\r\n"))
      << got;
  EXPECT_FALSE(closed());
}

TEST_F(RespDoor, CallsThatArriveTogetherAreDecidedTogether) {
  std::string calls;
  std::string replies;
  for (int i = 0; i < 16; ++i) {
    calls += "CL.THROTTLE k 99 1 1\r\n";
    replies += "*5\r\n:0\r\n:100\r\n:" + std::to_string(99 - i) +
               "\r\n:-1\r\n:" + std::to_string(i + 1) + "\r\n";
  }
  EXPECT_EQ(send(calls), replies);
  EXPECT_EQ(store_.takes, 1);
  EXPECT_EQ(store_.largest, 16U);
}

TEST_F(RespDoor, WhatStandsBetweenCallsIsAnsweredInItsPlace) {
  EXPECT_EQ(send("CL.THROTTLE k 1 1 1\r\nECHO a\r\nCL.THROTTLE k 1 1 x\r\nTHROTTLE k 1 1 1\r\n"
                 "CL.THROTTLE k 1 1 1\r\nPING\r\n"),
            "*5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:1\r\n"
            "$1\r\na\r\n"
            "-Cell error: Couldn't parse as integer: x\r\n"
            "*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:0\r\n"
            "*5\r\n:0\r\n:2\r\n:0\r\n:-1\r\n:2\r\n"
            "+PONG\r\n");
}

TEST_F(RespDoor, AStoreThatAnswersLaterHoldsUpWhatIsBehind) {
  store_.later = true;
  EXPECT_EQ(send("CL.THROTTLE k 1 1 1\r\nPING\r\nSUIMON.CHECK d 1 user u\r\nPING\r\n"), "");
  EXPECT_EQ(store_.waiting, 1);
  EXPECT_EQ(send("ECHO late\r\n"), "");
  store_.answer();
  EXPECT_EQ(work(), "*5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:1\r\n+PONG\r\n");
  store_.answer();
  EXPECT_EQ(work(), "*5\r\n:1\r\n$4\r\neach\r\n:1\r\n:-1\r\n:60000\r\n+PONG\r\n$4\r\nlate\r\n");
}

TEST_F(RespDoor, AClientThatLeavesBeforeTheAnswerIsNotMissed) {
  store_.later = true;
  send("CL.THROTTLE k 1 1 1\r\n");
  client_.reset();
  work();
  store_.answer();
  work();
  EXPECT_EQ(server_->server().connections(), 0U);
}

TEST_F(RespDoor, AStoreThatFailsIsAnErrorForEachCall) {
  store_.later = true;
  send("CL.THROTTLE k 1 1 1\r\nTHROTTLE k 1 1 1\r\n");
  store_.answer(false);
  EXPECT_EQ(work(), "-ERR the store did not answer\r\n-ERR the store did not answer\r\n");
  EXPECT_EQ(counters_.store_failures(), 2U);
}

TEST_F(RespDoor, OfAPipelineTheCallsFailThatCouldNotBeDecided) {
  store_.later = true;
  send("CL.THROTTLE k 1 1 1\r\nCL.THROTTLE other 0 1 1\r\n");
  store_.answer_all_but_one();
  EXPECT_EQ(work(), "-ERR the store did not answer\r\n*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:1\r\n");
  EXPECT_EQ(counters_.store_failures(), 1U);
}

TEST_F(RespDoor, MoreCallsThanABatchHoldsAreAllAnswered) {
  std::string calls;
  for (int i = 0; i < 100; ++i) calls += "CL.THROTTLE k 99 1 1\r\n";
  const std::string got = send(calls);
  EXPECT_EQ(std::count(got.begin(), got.end(), '*'), 100);
  EXPECT_TRUE(got.ends_with(":0\r\n:-1\r\n:100\r\n")) << got.substr(got.size() - 40);
  EXPECT_EQ(store_.takes, 4);
}

TEST_F(RespDoor, WhatIsNoProtocolEndsTheConnectionAfterWhatWasAsked) {
  EXPECT_EQ(send("PING\r\n*1\r\n:1\r\nPING\r\n"),
            "+PONG\r\n-ERR Protocol error: expected '$', got ':'\r\n");
  EXPECT_TRUE(closed());
}

TEST_F(RespDoor, AWebPageCannotSpeakToIt) {
  EXPECT_EQ(send("POST / HTTP/1.1\r\nHost: a\r\n\r\nCL.THROTTLE k 1 1 1\r\n").substr(0, 20),
            "-ERR Protocol error:");
  EXPECT_TRUE(closed());
  EXPECT_EQ(store_.takes, 0);
}

TEST_F(RespDoor, QuitIsAnsweredAndNothingBehindIt) {
  EXPECT_EQ(send("QUIT\r\nPING\r\n"), "+OK\r\n");
  EXPECT_TRUE(closed());
}

TEST_F(RespDoor, WithAPasswordNothingIsAskedBeforeItWasShown) {
  open("sesame");
  EXPECT_EQ(send("PING\r\nCL.THROTTLE k 1 1 1\r\nSUIMON.CHECK d 1 user u\r\n"),
            "-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n"
            "-NOAUTH Authentication required.\r\n");
  EXPECT_EQ(store_.takes, 0);
  EXPECT_TRUE(send("HELLO 3\r\n").starts_with("-NOAUTH HELLO must be called"));
  EXPECT_EQ(send("AUTH wrong\r\nAUTH nobody sesame\r\n"),
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_EQ(send("AUTH sesame\r\nPING\r\n"), "+OK\r\n+PONG\r\n");
  EXPECT_EQ(send("RESET\r\nPING\r\n"), "+RESET\r\n-NOAUTH Authentication required.\r\n");
  EXPECT_TRUE(send("HELLO 3 AUTH default sesame\r\n").starts_with("%7\r\n"));
  EXPECT_EQ(send("PING\r\n"), "+PONG\r\n");
}

TEST_F(RespDoor, WhoGuessesTenTimesIsSentAway) {
  open("sesame");
  for (int i = 0; i < 9; ++i) send(i % 2 == 0 ? "AUTH a\r\nRESET\r\n" : "AUTH a\r\n");
  EXPECT_FALSE(closed());
  EXPECT_EQ(send("AUTH a\r\nAUTH sesame\r\nPING\r\n"),
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_TRUE(closed());
}

TEST_F(RespDoor, ACheckTellsTheLimitThatBinds) {
  EXPECT_EQ(send("SUIMON.CHECK d 1 user u\r\nSUIMON.CHECK \"\" 1 user u\r\n"),
            "*5\r\n:1\r\n$4\r\neach\r\n:1\r\n:-1\r\n:60000\r\n"
            "*5\r\n:1\r\n$4\r\neach\r\n:0\r\n:-1\r\n:120000\r\n");
  EXPECT_EQ(send("SUIMON.CHECK d 1 user u\r\nSUIMON.CHECK d 3 user u\r\n"),
            "*5\r\n:0\r\n$4\r\neach\r\n:0\r\n:60000\r\n:120000\r\n"
            "*5\r\n:0\r\n$4\r\neach\r\n:0\r\n:-1\r\n:120000\r\n");
  EXPECT_EQ(send("SUIMON.CHECK d 1 other o\r\n"), "*5\r\n:1\r\n$-1\r\n:-1\r\n:-1\r\n:0\r\n");
  EXPECT_TRUE(send("SUIMON.CHECK e 1 user u\r\n").starts_with("-ERR no such domain"));
  EXPECT_TRUE(send("SUIMON.CHECK d -1 user u\r\n").starts_with("-ERR the cost must be"));
  EXPECT_TRUE(send("SUIMON.CHECK d 1 user\r\n").starts_with("-ERR an attribute has no value"));
  EXPECT_TRUE(send("SUIMON.CHECK d 1 a 1 a 2\r\n").starts_with("-ERR an attribute stands twice"));
}

// A command as programs send it: an array.
std::string packed(const std::vector<std::string>& words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  return text;
}

TEST_F(RespDoor, ChecksThatComeTogetherAreAskedTogether) {
  std::string calls;
  std::string replies;
  for (int i = 0; i < 20; ++i) {
    const std::string user = "u" + std::to_string(i);
    calls += packed({"SUIMON.CHECK", "d", "1", "user", user});
    replies += "*5\r\n:1\r\n$4\r\neach\r\n:1\r\n:-1\r\n:60000\r\n";
  }
  EXPECT_EQ(send(calls), replies);
  EXPECT_EQ(store_.takes, 2);  // the engine decides 16 at once
  EXPECT_EQ(store_.largest, 16U);
}

TEST_F(RespDoor, ChecksStandInTheirPlaceAmongOtherCommands) {
  const std::string check = packed({"SUIMON.CHECK", "d", "1", "user", "u"});
  const std::string bad = packed({"SUIMON.CHECK", "d", "x", "user", "u"});
  const std::string few = packed({"SUIMON.CHECK", "d"});
  const std::string call = packed({"CL.THROTTLE", "k", "1", "1", "1"});
  const std::string sent = check + call + call + check + bad + check + few + "PING\r\n" + check +
                           "SUIMON.CHECK d 0 user u\r\n" + packed({"QUIT"}) + check;
  const std::string replies =
      "*5\r\n:1\r\n$4\r\neach\r\n:1\r\n:-1\r\n:60000\r\n"
      "*5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:1\r\n"
      "*5\r\n:0\r\n:2\r\n:0\r\n:-1\r\n:2\r\n"
      "*5\r\n:1\r\n$4\r\neach\r\n:0\r\n:-1\r\n:120000\r\n"
      "-ERR the cost must be a whole number from 0 to 18446744073709551615\r\n"
      "*5\r\n:0\r\n$4\r\neach\r\n:0\r\n:60000\r\n:120000\r\n"
      "-ERR wrong number of arguments for 'suimon.check' command\r\n"
      "+PONG\r\n"
      "*5\r\n:0\r\n$4\r\neach\r\n:0\r\n:60000\r\n:120000\r\n"
      "*5\r\n:1\r\n$4\r\neach\r\n:0\r\n:-1\r\n:120000\r\n"
      "+OK\r\n";
  EXPECT_EQ(send(sent), replies);
  EXPECT_TRUE(closed());
}

TEST_F(RespDoor, ChecksWaitForAStoreThatAnswersLaterAndKeepTheirOrder) {
  store_.later = true;
  const std::string check = packed({"SUIMON.CHECK", "d", "1", "user", "u"});
  EXPECT_EQ(send(check + check + packed({"PING"}) + check), "");
  EXPECT_EQ(store_.waiting, 1);
  store_.answer();
  EXPECT_EQ(work(),
            "*5\r\n:1\r\n$4\r\neach\r\n:1\r\n:-1\r\n:60000\r\n"
            "*5\r\n:1\r\n$4\r\neach\r\n:0\r\n:-1\r\n:120000\r\n"
            "+PONG\r\n");
  store_.answer();
  EXPECT_EQ(work(), "*5\r\n:0\r\n$4\r\neach\r\n:0\r\n:60000\r\n:120000\r\n");
}

TEST_F(RespDoor, AKeyWhoseParametersChangeOwesWhatItOwed) {
  send("CL.THROTTLE k 9 1 1 5\r\n");  // 5 of 10 owed
  EXPECT_EQ(send("CL.THROTTLE k 19 1 60 1\r\n"), "*5\r\n:0\r\n:20\r\n:14\r\n:-1\r\n:360\r\n");
}

TEST_F(RespDoor, CallsAreCountedByWhatTheyHeard) {
  send("CL.THROTTLE k 0 1 60\r\nCL.THROTTLE k 0 1 60\r\nCL.THROTTLE k 0 1 60 2\r\n");
  counters_.each_request_counter([](const RequestCounters& counters) {
    EXPECT_EQ(counters.domain, "");
    for (const Counter& counter : counters.by_outcome) EXPECT_EQ(counter.value(), 1U);
  });
}

TEST_F(RespDoor, ADrainAnswersWhatIsAskedAndEnds) {
  send("PING\r\n");
  server_->drain();
  EXPECT_EQ(send("PING\r\nCL.THROTTLE k 1 1 1\r\n"),
            "+PONG\r\n*5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:1\r\n");
  EXPECT_TRUE(closed());
}

TEST_F(RespDoor, AClientThatDoesNotReadIsNotReadEither) {
  // 200,000 descriptions of all commands are more than anybody holds for it.
  std::string asked;
  for (int i = 0; i < 4000; ++i) asked += "COMMAND\r\n";
  client_->send(asked);
  for (int i = 0; i < 50; ++i) loop_->poll_once(0);
  EXPECT_LT(server_->server().connections(), 2U);
  std::size_t bytes = 0;
  for (int i = 0; i < 2000; ++i) {
    loop_->poll_once(0);
    bytes += client_->read().size();
  }
  EXPECT_GT(bytes, 4000U * 500);
}

}  // namespace
}  // namespace suimon::door
