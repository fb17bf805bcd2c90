// gRPC over real sockets on a clock that stands still, with nghttp2's client side as the caller.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "suimon/door/grpc/server.h"
#include "suimon/net/address.h"

namespace suimon::door {
namespace {

using namespace std::chrono_literals;
using Fields = std::vector<std::pair<std::string, std::string>>;

// Says back what it hears; the path names what it does.
class Echo final : public GrpcHandler {
 public:
  int method_of(std::string_view path) override {
    if (path == "/echo") return 0;
    if (path == "/later") return 1;
    if (path == "/stream") return 2;
    return -1;
  }
  void handle(int method, std::string_view message, GrpcCall& call) override {
    ++calls;
    if (method == 0) {
      call.message() += message;
      return call.respond();
    }
    waiting.push_back(&call);
    if (method == 2) {
      call.message() += message;
      call.send();
    }
  }
  void gone(GrpcCall& call) override { std::erase(waiting, &call); }

  int calls = 0;
  std::vector<GrpcCall*> waiting;
};

struct Reply {
  std::map<std::string, std::string> fields;
  std::string body;
  bool closed = false;
  std::uint32_t error = 0;

  std::string message() const { return body.size() < 5 ? "" : body.substr(5); }
};

class Caller {
 public:
  explicit Caller(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    ::fcntl(fd_.get(), F_SETFL, O_NONBLOCK);
    nghttp2_session_callbacks* told = nullptr;
    nghttp2_session_callbacks_new(&told);
    nghttp2_session_callbacks_set_on_header_callback(
        told,
        [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name_bytes,
           std::size_t name_size, const std::uint8_t* value, std::size_t size, std::uint8_t,
           void* self) -> int {
          static_cast<Caller*>(self)
              ->replies[frame->hd.stream_id]
              .fields[std::string(reinterpret_cast<const char*>(name_bytes), name_size)] =
              std::string(reinterpret_cast<const char*>(value), size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        told,
        [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
           std::size_t size, void* self) -> int {
          static_cast<Caller*>(self)->replies[id].body.append(reinterpret_cast<const char*>(data),
                                                              size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        told, [](nghttp2_session*, std::int32_t id, std::uint32_t error, void* self) -> int {
          Reply& reply = static_cast<Caller*>(self)->replies[id];
          reply.closed = true;
          reply.error = error;
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        told, [](nghttp2_session*, const nghttp2_frame* frame, void* self) -> int {
          auto* const caller = static_cast<Caller*>(self);
          if (frame->hd.type == NGHTTP2_GOAWAY) {
            caller->goaways.push_back(frame->goaway.last_stream_id);
          }
          if (frame->hd.type == NGHTTP2_PING) ++caller->pings;
          return 0;
        });
    nghttp2_session_client_new(&session_, told, this);
    nghttp2_session_callbacks_del(told);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~Caller() { nghttp2_session_del(session_); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // Begins a call whose request is `body`; without `ends` it goes on.
  std::int32_t call(const std::string& path, const std::string& body, const Fields& more = {},
                    bool ends = true, const std::string& method = "POST",
                    const std::string& type = "application/grpc") {
    Fields fields = {{":method", method},      {":scheme", "http"}, {":path", path},
                     {":authority", "suimon"}, {"te", "trailers"},  {"content-type", type}};
    fields.insert(fields.end(), more.begin(), more.end());
    std::vector<nghttp2_nv> pairs;
    for (auto& [name, value] : fields) {
      pairs.push_back({reinterpret_cast<std::uint8_t*>(name.data()),
                       reinterpret_cast<std::uint8_t*>(value.data()), name.size(), value.size(),
                       NGHTTP2_NV_FLAG_NONE});
    }
    auto& source = *sources_.emplace_back(std::make_unique<Source>(Source{body, 0, ends}));
    const nghttp2_data_provider provider{
        {.ptr = &source},
        [](nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t room, std::uint32_t* flags,
           nghttp2_data_source* from, void*) -> ssize_t {
          Source& data = *static_cast<Source*>(from->ptr);
          const std::size_t size = std::min(room, data.body.size() - data.at);
          data.body.copy(reinterpret_cast<char*>(to), size, data.at);
          data.at += size;
          if (data.at == data.body.size() && data.ends) *flags |= NGHTTP2_DATA_FLAG_EOF;
          if (size == 0 && !data.ends) return NGHTTP2_ERR_DEFERRED;
          return static_cast<ssize_t>(size);
        }};
    return nghttp2_submit_request(session_, nullptr, pairs.data(), pairs.size(), &provider,
                                  nullptr);
  }
  void reset(std::int32_t id) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  }
  void send_raw(std::string_view bytes) {
    EXPECT_EQ(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void send() {
    const std::uint8_t* bytes = nullptr;
    for (;;) {
      const auto size = nghttp2_session_mem_send(session_, &bytes);
      if (size <= 0) return;
      ::send(fd_.get(), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    }
  }
  // Reads what is there; false once the other side has closed.
  bool receive() {
    std::vector<std::uint8_t> buffer(1 << 16);
    for (;;) {
      const auto got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
      if (got == 0) open = false;
      if (got <= 0) return open;
      raw.append(reinterpret_cast<const char*>(buffer.data()), static_cast<std::size_t>(got));
      ++reads;
      nghttp2_session_mem_recv(session_, buffer.data(), static_cast<std::size_t>(got));
    }
  }

  std::map<std::int32_t, Reply> replies;
  std::vector<std::int32_t> goaways;
  std::string raw;
  int pings = 0;
  int reads = 0;
  bool open = true;

 private:
  struct Source {
    std::string body;
    std::size_t at;
    bool ends;
  };
  net::Fd fd_;
  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<Source>> sources_;
};

std::string framed(std::string_view message) {
  std::string bytes;
  append_prefix(message.size(), bytes);
  return bytes += message;
}

class GrpcServerTest : public testing::Test {
 protected:
  GrpcServerTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("suimon-grpc-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~GrpcServerTest() override { std::filesystem::remove_all(folder_); }

  void start(const GrpcLimits& limits = {}, const net::ServerLimits& server_limits = {}) {
    auto listener = net::open_listener(*net::parse_listen_address("unix:" + path()), false);
    ASSERT_TRUE(listener) << listener.error().text;
    server_ =
        std::make_unique<GrpcServer>(loop_, std::move(*listener), echo_, limits, server_limits);
  }
  std::string path() const { return (folder_ / "socket").string(); }
  void work(Caller& caller) {
    for (int i = 0; i < 12; ++i) {
      caller.send();
      loop_.poll_once(0);
      caller.receive();
    }
  }
  void pass(Duration time, Caller& caller) {
    clock_.advance(time);
    work(caller);
  }
  std::uint64_t bad(int status) const {
    for (std::size_t i = 0; i < kBadStatuses.size(); ++i) {
      if (kBadStatuses[i] == status) return server_->bad_requests()[i];
    }
    return 0;
  }
  // Whether the server still serves others.
  void expect_serving() {
    Caller other(path());
    const std::int32_t id = other.call("/echo", framed("well"));
    work(other);
    EXPECT_EQ(other.replies[id].message(), "well");
  }

  ManualClock clock_;
  net::Loop loop_{clock_};
  Echo echo_;
  std::filesystem::path folder_;
  std::unique_ptr<GrpcServer> server_;
};

TEST_F(GrpcServerTest, ACallIsAnsweredWithItsMessageAndOk) {
  start();
  Caller caller(path());
  const std::int32_t id = caller.call("/echo", framed("hello"));
  work(caller);
  Reply& reply = caller.replies[id];
  EXPECT_TRUE(reply.closed);
  EXPECT_EQ(reply.message(), "hello");
  EXPECT_EQ(reply.fields[":status"], "200");
  EXPECT_EQ(reply.fields["content-type"], "application/grpc");
  EXPECT_EQ(reply.fields["grpc-status"], "0");
}

TEST_F(GrpcServerTest, CallsOfOneWakeUpAreAnsweredTogetherAndHoldNothingAfterwards) {
  start();
  Caller caller(path());
  work(caller);
  const int before = caller.reads;
  for (int i = 0; i < 20; ++i) caller.call("/echo", framed("x"));
  caller.send();
  loop_.poll_once(0);
  caller.receive();
  EXPECT_EQ(caller.reads, before + 1);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(caller.replies[1 + 2 * i].closed) << i;
}

TEST_F(GrpcServerTest, AMessageInPiecesIsOneMessage) {
  start();
  Caller caller(path());
  const std::string text(60'000, 'x');  // more than a frame, and than what is read at once
  const std::int32_t id = caller.call("/echo", framed(text));
  work(caller);
  EXPECT_EQ(caller.replies[id].message(), text);
  for (int i = 0; i < 100; ++i) {  // the connection's window opens again
    const std::int32_t next = caller.call("/echo", framed(text));
    work(caller);
    ASSERT_EQ(caller.replies[next].message().size(), text.size()) << i;
  }
}

TEST_F(GrpcServerTest, WhatIsNoCallIsRefusedAsTheProtocolHasIt) {
  start();
  Caller caller(path());
  const auto status = [&](std::int32_t id, const std::string& name) {
    work(caller);
    return caller.replies[id].fields[name];
  };
  EXPECT_EQ(status(caller.call("/nothing", framed("")), "grpc-status"), "12");
  EXPECT_EQ(status(caller.call("/echo", framed(""), {}, true, "GET"), ":status"), "405");
  EXPECT_EQ(status(caller.call("/echo", "", {}, true, "POST", "text/plain"), ":status"), "415");
  EXPECT_EQ(status(caller.call("/echo", ""), "grpc-status"), "3");
  EXPECT_EQ(status(caller.call("/echo", framed("abc").substr(0, 6)), "grpc-status"), "3");
  EXPECT_EQ(status(caller.call("/echo", framed("abc") + framed("d")), "grpc-status"), "3");
  EXPECT_EQ(status(caller.call("/echo", "\x01" + framed("abc").substr(1)), "grpc-status"), "12");
  const std::int32_t large = caller.call("/echo", framed(std::string((64 << 10) + 1, 'x')));
  EXPECT_EQ(status(large, "grpc-status"), "8");
  EXPECT_EQ(caller.replies[large].fields["grpc-message"], "the message is larger than 64 KiB");
  EXPECT_EQ(echo_.calls, 0);
  EXPECT_EQ(bad(400), 3U);
  EXPECT_EQ(bad(413), 1U);
  EXPECT_TRUE(caller.open);
  EXPECT_EQ(status(caller.call("/echo", framed("still")), "grpc-status"), "0");
}

TEST_F(GrpcServerTest, AHeadThatIsTooLargeEndsItsCallOnly) {
  start();
  Caller caller(path());
  const std::int32_t id = caller.call(
      "/echo", framed("x"), {{"a", std::string(9000, 'x')}, {"b", std::string(9000, 'x')}});
  work(caller);
  EXPECT_TRUE(caller.replies[id].closed);
  EXPECT_NE(caller.replies[id].error, 0U);
  EXPECT_EQ(bad(431), 1U);
  const std::int32_t next = caller.call("/echo", framed("y"));
  work(caller);
  EXPECT_EQ(caller.replies[next].message(), "y");
}

TEST_F(GrpcServerTest, TheDeadlineOfACallIsKept) {
  start();
  Caller caller(path());
  const std::int32_t id = caller.call("/later", framed("x"), {{"grpc-timeout", "50m"}});
  work(caller);
  pass(49ms, caller);
  EXPECT_FALSE(caller.replies[id].closed);
  pass(1ms, caller);
  EXPECT_EQ(caller.replies[id].fields["grpc-status"], "4");
  ASSERT_EQ(echo_.waiting.size(), 1U);
  echo_.waiting[0]->message() += "too late";
  echo_.waiting[0]->respond();
  work(caller);
  EXPECT_EQ(caller.replies[id].message(), "");
  expect_serving();
}

TEST_F(GrpcServerTest, ARequestThatDoesNotComeToItsEndIsNotWaitedForForever) {
  start();
  Caller caller(path());
  const std::int32_t id = caller.call("/echo", framed("abc").substr(0, 6), {}, false);
  work(caller);
  pass(10s - 1ms, caller);
  EXPECT_FALSE(caller.replies[id].closed);
  pass(1ms, caller);
  EXPECT_EQ(caller.replies[id].fields["grpc-status"], "4");
}

TEST_F(GrpcServerTest, AnAnswerToACallThatIsGoneIsDropped) {
  start();
  {
    Caller caller(path());
    const std::int32_t id = caller.call("/later", framed("x"));
    caller.call("/later", framed("y"));
    work(caller);
    caller.reset(id);
    work(caller);
    ASSERT_EQ(echo_.waiting.size(), 2U);
    echo_.waiting[0]->message() += "x";
    echo_.waiting[0]->respond();
    work(caller);
  }
  loop_.poll_once(0);
  echo_.waiting[1]->fail(GrpcCode::unavailable, "no");
  expect_serving();
}

TEST_F(GrpcServerTest, AStreamGoesOnUntilItsClientLeaves) {
  start();
  Caller caller(path());
  const std::int32_t id = caller.call("/stream", framed("a"));
  work(caller);
  EXPECT_EQ(caller.replies[id].body, framed("a"));
  echo_.waiting[0]->message() += "b";
  echo_.waiting[0]->send();
  work(caller);
  EXPECT_EQ(caller.replies[id].body, framed("a") + framed("b"));
  caller.reset(id);
  work(caller);
  EXPECT_TRUE(echo_.waiting.empty());
}

TEST_F(GrpcServerTest, ADrainAsksForNoMoreCallsAndEndsWhenAllAreAnswered) {
  start();
  Caller caller(path());
  const std::int32_t id = caller.call("/later", framed("x"));
  work(caller);
  server_->drain();
  work(caller);
  EXPECT_EQ(caller.goaways, (std::vector<std::int32_t>{0x7fffffff}));
  server_->close_idle();
  work(caller);
  EXPECT_EQ(caller.goaways, (std::vector<std::int32_t>{0x7fffffff, id}));
  EXPECT_TRUE(caller.open);
  server_->close_idle();  // as the daemon does until all have gone
  work(caller);
  EXPECT_EQ(caller.goaways.size(), 2U);
  echo_.waiting[0]->message() += "done";
  echo_.waiting[0]->respond();
  work(caller);
  EXPECT_EQ(caller.replies[id].message(), "done");
  EXPECT_FALSE(caller.open);
}

TEST_F(GrpcServerTest, WhoAnswersPingsStaysAndWhoDoesNotGoes) {
  start();
  Caller present(path());
  Caller absent(path());
  work(present);
  work(absent);
  for (int i = 0; i < 6; ++i)
    pass(30s, present);  // of pings the absent one hears, and says nothing
  EXPECT_GE(present.pings, 5);
  EXPECT_TRUE(present.open);
  EXPECT_FALSE(absent.receive());
}

TEST_F(GrpcServerTest, OtherProtocolsAreToldAndHalfAPrefaceIsNotWaitedFor) {
  start();
  Caller http(path());
  http.send_raw("GET / HTTP/1.1\r\n\r\n");
  for (int i = 0; i < 3; ++i) loop_.poll_once(0);
  http.receive();
  EXPECT_EQ(http.raw.substr(0, 13), "HTTP/1.1 505 ");
  EXPECT_EQ(bad(505), 1U);
  Caller half(path());
  half.send_raw("PRI * HT");
  loop_.poll_once(0);
  loop_.poll_once(0);
  clock_.advance(10s);
  loop_.poll_once(0);
  EXPECT_FALSE(half.receive());
}

TEST_F(GrpcServerTest, CallsBeyondTheMostAreRefusedAndOthersGoOn) {
  start({.calls = 3});
  Caller caller(path());
  for (int i = 0; i < 5; ++i) caller.call("/later", framed("x"));
  work(caller);
  EXPECT_EQ(echo_.waiting.size(), 3U);
  EXPECT_EQ(caller.replies[9].error, static_cast<std::uint32_t>(NGHTTP2_REFUSED_STREAM));
  EXPECT_EQ(server_->refused_calls(), 2U);
}

TEST_F(GrpcServerTest, CallsThatAreGivenUpDoNotEndTheConnectionOfTheOthers) {
  start();
  Caller caller(path());
  for (int round = 0; round < 30; ++round) {
    std::vector<std::int32_t> given_up;
    for (int i = 0; i < 100; ++i) {
      given_up.push_back(caller.call("/echo", framed("x"), {}, false));
    }
    work(caller);
    for (const std::int32_t id : given_up) caller.reset(id);
    work(caller);
  }
  const std::int32_t id = caller.call("/echo", framed("well"));
  work(caller);
  EXPECT_TRUE(caller.goaways.empty());
  EXPECT_EQ(caller.replies[id].message(), "well");
}

TEST_F(GrpcServerTest, ConnectionsThatDoNothingButGiveUpAreEnded) {
  start({.resets = 10, .resets_per_second = 1});
  Caller caller(path());
  for (int i = 0; i < 20 && caller.open; ++i) {
    const std::int32_t id = caller.call("/echo", framed("x"), {}, false);
    work(caller);
    caller.reset(id);
    work(caller);
  }
  EXPECT_FALSE(caller.open);
  EXPECT_EQ(bad(400), 1U);
  expect_serving();
}

TEST_F(GrpcServerTest, MessagesThatWaitHaveABoundTogether) {
  start({.held_bytes = 100'000});
  Caller caller(path());
  for (int i = 0; i < 5; ++i) {
    caller.call("/echo", framed(std::string(40'000, 'x')).substr(0, 30'000), {}, false);
  }
  work(caller);
  int ended = 0;
  for (auto& [id, reply] : caller.replies) ended += reply.closed ? 1 : 0;
  EXPECT_GE(ended, 1);
  EXPECT_EQ(server_->refused_calls(), static_cast<std::uint64_t>(ended));
  EXPECT_TRUE(caller.open);
  for (auto& [id, reply] : caller.replies) caller.reset(id);
  work(caller);
  expect_serving();
}

}  // namespace
}  // namespace suimon::door
