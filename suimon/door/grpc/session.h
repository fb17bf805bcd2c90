// One HTTP/2 connection of the gRPC door. Private to it.
#pragma once

#include <nghttp2/nghttp2.h>

#include <memory>
#include <string_view>
#include <vector>

#include "suimon/door/grpc/server.h"

namespace suimon::door {

class GrpcSession final : public net::Session, private net::TimerTarget {
 public:
  GrpcSession(GrpcServer& server, net::Connection& connection);
  ~GrpcSession() override;

  std::size_t on_bytes(std::string_view in, net::Connection& connection) override;
  void on_close() override;
  bool idle() const override { return calls_.empty(); }

  void drain();
  void finish();

  // What nghttp2 tells us of.
  static void set_callbacks(nghttp2_session_callbacks* callbacks);

 private:
  friend class GrpcCall;
  friend class GrpcServer;

  struct Free {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };

  bool refuse_other_protocols(std::string_view in);
  void on_timer(Instant now) override;
  GrpcCall* call_of(std::int32_t stream) const {
    return static_cast<GrpcCall*>(nghttp2_session_get_stream_user_data(session_.get(), stream));
  }

  // Reading.
  int begin_call(std::int32_t stream);
  int read_header(GrpcCall& call, std::string_view name, std::string_view value);
  void end_head(GrpcCall& call, bool ends);
  void read_data(GrpcCall& call, std::string_view data);
  void end_request(GrpcCall& call);
  void consume(GrpcCall& call);
  void detach(GrpcCall& call);

  // Answering.
  void begin_answer(GrpcCall& call);
  void fail(GrpcCall& call, GrpcCode code, std::string_view text);
  void refuse_http(GrpcCall& call, int status);
  ssize_t read_answer(GrpcCall& call, std::uint8_t* to, std::size_t room, std::uint32_t& flags);
  void reset(GrpcCall& call, std::uint32_t code);

  void touch(GrpcCall& call);
  void settle_touched();
  void arm(GrpcCall& call);
  void pump();
  void flush();

  GrpcServer& server_;
  net::Connection& connection_;
  std::unique_ptr<nghttp2_session, Free> session_;
  std::vector<GrpcCall*> calls_;    // whose streams are open
  std::vector<GrpcCall*> touched_;  // of those, the ones that need a look before the bytes go
  std::size_t index_ = 0;           // in the server's list
  Instant heard_;                   // when the last bytes came
  net::Timers::Id timer_;
  bool greeted_ = false;   // the client speaks HTTP/2
  bool pinged_ = false;    // since then
  bool in_bytes_ = false;  // on_bytes is on the stack and will send
  bool finishing_ = false;
  bool told_to_go_ = false;  // the last GOAWAY is on the way
  bool closing_ = false;
};

}  // namespace suimon::door
