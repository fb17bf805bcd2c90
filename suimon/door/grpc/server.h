// gRPC over HTTP/2, by nghttp2 on our own loop: calls are read, handed to a handler and answered.
//
// A handler may answer at once or later. A GrpcCall outlives its stream until the handler has
// answered, so an answer that comes too late is dropped without a trace. What one wake-up answers
// goes out in one write a connection.
// Source: RFC 9113; "gRPC over HTTP2" (PROTOCOL-HTTP2). Thread rule: everything on the loop's
// thread.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/base/pool.h"
#include "suimon/door/grpc/call.h"
#include "suimon/net/server.h"
#include "suimon/observe/counters.h"

namespace suimon::door {

class GrpcServer;
class GrpcSession;

// One call whose request has been read. It is answered exactly once: by one message (respond), or
// by any number of them (send) and no end, or by a failure.
class GrpcCall final : private net::TimerTarget {
 public:
  // Where the next message is written, behind what stands there already.
  std::string& message();
  // Sends the message as the only one, and OK.
  void respond();
  // Sends the message as one of a stream. May be called until the handler hears gone().
  void send();
  // Ends the call without a message. `text` is for the programmer of the caller.
  void fail(GrpcCode code, std::string_view text);

 private:
  friend class GrpcServer;
  friend class GrpcSession;

  enum class Stage : std::uint8_t {
    head,       // its header fields are arriving
    reading,    // its message is
    deciding,   // the handler has it
    streaming,  // the handler goes on sending
    answering,  // its end is on the way
    ignoring,   // it is answered, and the client may not have stopped sending
  };

  void on_timer(Instant now) override;
  void seal();

  GrpcSession* session_ = nullptr;  // null once the stream is gone
  GrpcServer* server_ = nullptr;
  Stage stage_ = Stage::head;
  bool owed_ = false;    // the handler has it and will answer
  bool begun_ = false;   // response headers are on the way
  bool ends_ = false;    // no message follows
  bool posted_ = false;  // the method is POST
  bool grpc_ = false;    // the content-type is right
  int method_ = -1;      // as the handler numbers them
  std::int32_t stream_ = 0;
  std::size_t index_ = 0;       // in the session's list of calls
  std::size_t touched_ = 0;     // its place in the list of those to look at, from 1; 0: not there
  std::size_t head_bytes_ = 0;  // of its header fields
  std::size_t unconsumed_ = 0;  // bytes that count against the connection's window
  std::size_t held_ = 0;        // what of the server's held bytes is its own
  std::size_t out_at_ = 0;      // what has been sent of out_
  std::size_t sealed_ = 0;      // where the message that is being written begins
  Duration timeout_{0};         // grpc-timeout; 0: none
  Instant begun_at_;
  net::Timers::Id timer_;
  std::string in_;         // what has arrived of the message, unless it lies in view_
  std::string_view view_;  // the same where it lies in the bytes that are being read
  std::string out_;        // messages with their prefixes
  GrpcCode code_ = GrpcCode::ok;
};

// What answers calls. The message's view ends with handle(); a handler copies what it needs.
class GrpcHandler {
 public:
  virtual ~GrpcHandler() = default;
  // Called before the first call of a wake-up.
  virtual void wake(Instant) {}
  // The number of the method of a path "/service/method", at least 0; -1 when there is none.
  virtual int method_of(std::string_view path) = 0;
  virtual void handle(int method, std::string_view message, GrpcCall& call) = 0;
  // The client has left a call that was answered by send(); it must not be used any more.
  virtual void gone(GrpcCall&) {}
};

struct GrpcLimits {
  std::uint32_t streams = 1000;  // at a time on one connection
  std::size_t calls = 16'384;    // at a time on all of them
  // Calls that a connection gives up: a gateway does so whenever an answer is late or its own
  // client leaves, and giving up costs no more than calling.
  std::uint64_t resets = 100'000;            // in a burst
  std::uint64_t resets_per_second = 10'000;  // beyond it
  std::size_t message_bytes = 64 << 10;
  std::size_t header_bytes = 16 << 10;
  std::uint32_t window_bytes = 1 << 20;  // of messages that are not complete, a connection
  std::size_t held_bytes = 64 << 20;     // of messages that wait, all connections together
  Duration read_timeout = std::chrono::seconds(10);   // for a call's message
  Duration write_timeout = std::chrono::seconds(30);  // a client takes nothing of its answer
  Duration ping_after = std::chrono::seconds(30);     // of silence on a connection
};

// One door's gRPC on one loop: a listener and the sessions behind it.
class GrpcServer {
 public:
  GrpcServer(net::Loop& loop, net::Fd listener, GrpcHandler& handler, const GrpcLimits& limits,
             const net::ServerLimits& server_limits, net::Greeting greeting = {});
  ~GrpcServer();

  // Asks clients to open no more calls on their connections (GOAWAY, RFC 9113 section 6.8), and
  // takes no new connections. Calls that come all the same are answered.
  void drain();
  // Takes no more calls, and ends the connections on which none is under way.
  void close_idle();
  const net::Server& server() const { return server_; }
  // Calls that were wrong in themselves, in the order of kBadStatuses: those that HTTP has a
  // status for, by that.
  const BadRequests& bad_requests() const { return bad_; }
  // Calls that found no place, or no room for their message.
  std::uint64_t refused_calls() const { return refused_calls_; }

 private:
  friend class GrpcCall;
  friend class GrpcSession;

  struct Free {
    void operator()(nghttp2_session_callbacks* callbacks) const {
      nghttp2_session_callbacks_del(callbacks);
    }
    void operator()(nghttp2_option* option) const { nghttp2_option_del(option); }
  };

  void wake(Instant now);
  void count_bad(int status);
  void give_back(GrpcCall& call);

  net::Loop& loop_;
  GrpcHandler& handler_;
  GrpcLimits limits_;
  Instant woken_ = Instant::min();
  BadRequests bad_{};
  Pool<GrpcCall> calls_;
  std::size_t open_calls_ = 0;
  std::size_t held_ = 0;
  std::uint64_t refused_calls_ = 0;
  std::unique_ptr<nghttp2_session_callbacks, Free> callbacks_;
  std::unique_ptr<nghttp2_option, Free> option_;
  std::vector<GrpcSession*> sessions_;
  net::Server server_;  // last: its sessions use the rest
};

}  // namespace suimon::door
