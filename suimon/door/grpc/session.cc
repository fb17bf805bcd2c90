#include "suimon/door/grpc/session.h"

#include <algorithm>
#include <array>
#include <utility>

namespace suimon::door {
namespace {

// What every HTTP/2 client sends first (RFC 9113 section 3.4).
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::string_view kOtherProtocol =
    "HTTP/1.1 505 HTTP Version Not Supported\r\nContent-Type: text/plain\r\n"
    "Content-Length: 80\r\nConnection: close\r\n\r\n"
    "this is suimon's gRPC listener; it speaks HTTP/2 only, and checks stand at http\n";

}  // namespace

GrpcSession::GrpcSession(GrpcServer& server, net::Connection& connection)
    : server_(server), connection_(connection) {
  const GrpcLimits& limits = server_.limits_;
  nghttp2_session* session = nullptr;
  nghttp2_session_server_new2(&session, server_.callbacks_.get(), this, server_.option_.get());
  session_.reset(session);
  if (session == nullptr) return;  // no memory; the first bytes end the connection
  const std::array settings = {
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams},
      // A message and its prefix fit, so that only the connection's window is worth minding.
      nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                             static_cast<std::uint32_t>(2 * limits.message_bytes)},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
                             static_cast<std::uint32_t>(limits.header_bytes)},
  };
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<std::int32_t>(limits.window_bytes));
  heard_ = server_.loop_.now();
  index_ = server_.sessions_.size();
  server_.sessions_.push_back(this);
}

GrpcSession::~GrpcSession() { on_close(); }

std::size_t GrpcSession::on_bytes(std::string_view in, net::Connection& connection) {
  server_.wake(connection.loop().now());
  heard_ = connection.loop().now();
  pinged_ = false;
  if (session_ == nullptr || (!greeted_ && refuse_other_protocols(in))) {
    connection.close_after_flush();
    return in.size();
  }
  if (!greeted_) {
    if (in.size() < kPreface.size()) return 0;  // so that half a preface does not last
    greeted_ = true;
    timer_ = server_.loop_.timers().add(heard_ + server_.limits_.ping_after, *this);
  }
  in_bytes_ = true;
  const auto used = nghttp2_session_mem_recv(
      session_.get(), reinterpret_cast<const std::uint8_t*>(in.data()), in.size());
  pump();
  settle_touched();
  in_bytes_ = false;
  const bool over = nghttp2_session_want_read(session_.get()) == 0 &&
                    nghttp2_session_want_write(session_.get()) == 0;
  if (used < 0 || over) {
    if (!finishing_) server_.count_bad(400);
    closing_ = true;
    connection.close_after_flush();
  } else if (finishing_ && calls_.empty()) {
    closing_ = true;
    connection.close_after_flush();
  }
  return in.size();
}

// Tells a client of HTTP/1.1 where it is. True when that is what it speaks.
bool GrpcSession::refuse_other_protocols(std::string_view in) {
  const std::size_t both = std::min(in.size(), kPreface.size());
  if (in.substr(0, both) == kPreface.substr(0, both)) return false;
  server_.count_bad(505);
  connection_.out() += kOtherProtocol;
  closing_ = true;
  return true;
}

void GrpcSession::on_close() {
  if (session_ == nullptr) return;
  while (!calls_.empty()) detach(*calls_.back());
  server_.loop_.timers().cancel(timer_);
  session_.reset();
  server_.sessions_[index_] = server_.sessions_.back();
  server_.sessions_[index_]->index_ = index_;
  server_.sessions_.pop_back();
}

// Nothing was heard for a while: whoever answers a ping is there. One who does not is closed as
// idle.
void GrpcSession::on_timer(Instant now) {
  Instant next = heard_ + server_.limits_.ping_after;
  if (next <= now) {
    next = now + server_.limits_.ping_after;
    // Once only: what is sent makes the time of a connection longer, too.
    if (!std::exchange(pinged_, true)) {
      nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
    }
  }
  timer_ = server_.loop_.timers().add(next, *this);
  flush();
}

void GrpcSession::drain() {
  if (!greeted_ || closing_) return;
  nghttp2_submit_shutdown_notice(session_.get());
  flush();
}

void GrpcSession::finish() {
  finishing_ = true;
  if (!greeted_ || closing_ || std::exchange(told_to_go_, true)) return;
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_.get()), NGHTTP2_NO_ERROR,
                        nullptr, 0);
  flush();
}

int GrpcSession::begin_call(std::int32_t stream) {
  if (server_.open_calls_ >= server_.limits_.calls || server_.held_ > server_.limits_.held_bytes) {
    ++server_.refused_calls_;
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream, NGHTTP2_REFUSED_STREAM);
    return 0;
  }
  ++server_.open_calls_;
  GrpcCall& call = server_.calls_.take();
  call.session_ = this;
  call.server_ = &server_;
  call.stage_ = GrpcCall::Stage::head;
  call.owed_ = call.begun_ = call.ends_ = call.posted_ = call.grpc_ = false;
  call.method_ = -1;
  call.stream_ = stream;
  call.index_ = calls_.size();
  call.head_bytes_ = call.unconsumed_ = call.held_ = call.out_at_ = call.sealed_ = call.touched_ =
      0;
  call.timeout_ = Duration{0};
  call.begun_at_ = server_.loop_.now();
  call.in_.clear();
  call.out_.clear();
  call.view_ = {};
  call.code_ = GrpcCode::ok;
  calls_.push_back(&call);
  touch(call);
  return nghttp2_session_set_stream_user_data(session_.get(), stream, &call);
}

int GrpcSession::read_header(GrpcCall& call, std::string_view name, std::string_view value) {
  call.head_bytes_ += name.size() + value.size() + 32;  // as RFC 9113 section 6.5.2 counts
  if (call.head_bytes_ > server_.limits_.header_bytes) {
    if (call.stage_ == GrpcCall::Stage::head) server_.count_bad(431);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  if (call.stage_ != GrpcCall::Stage::head) return 0;  // a trailer
  switch (name.size()) {
    case 5:
      if (name == ":path") call.method_ = server_.handler_.method_of(value);
      break;
    case 7:
      if (name == ":method") call.posted_ = value == "POST";
      break;
    case 12:
      if (name == "content-type") call.grpc_ = is_grpc(value);
      if (name == "grpc-timeout") {
        constexpr Duration kMost = std::chrono::hours(24);
        call.timeout_ = std::min(parse_grpc_timeout(value).value_or(Duration{0}), kMost);
      }
      break;
    default:
      break;
  }
  return 0;
}

void GrpcSession::end_head(GrpcCall& call, bool ends) {
  if (call.stage_ == GrpcCall::Stage::head) {
    call.stage_ = GrpcCall::Stage::reading;
    if (!call.posted_) return refuse_http(call, 405);
    if (!call.grpc_) return refuse_http(call, 415);
    if (call.method_ < 0) {
      server_.count_bad(404);
      return fail(call, GrpcCode::unimplemented,
                  "there is no such method; the services are "
                  "envoy.service.ratelimit.v3.RateLimitService and grpc.health.v1.Health");
    }
  }
  if (ends) end_request(call);
}

void GrpcSession::read_data(GrpcCall& call, std::string_view data) {
  call.unconsumed_ += data.size();
  if (call.stage_ != GrpcCall::Stage::reading) return consume(call);
  // Most messages come whole, and are read where they lie.
  if (call.in_.empty() && call.view_.empty()) {
    call.view_ = data;
    touch(call);
  } else {
    if (call.in_.empty()) call.in_ = call.view_;
    call.view_ = {};
    call.in_ += data;
    touch(call);
  }
  const std::string_view all = call.in_.empty() ? call.view_ : call.in_;
  if (all.size() < MessagePrefix::kSize) return;
  const MessagePrefix prefix = read_prefix(all);
  if (prefix.compressed) {
    server_.count_bad(415);
    return fail(call, GrpcCode::unimplemented, "the message is compressed; send it as it is");
  }
  if (prefix.size > server_.limits_.message_bytes) {
    server_.count_bad(413);
    return fail(call, GrpcCode::resource_exhausted, "the message is larger than 64 KiB");
  }
  if (all.size() - MessagePrefix::kSize > prefix.size) {
    server_.count_bad(400);
    return fail(call, GrpcCode::invalid_argument, "one message is wanted, and more came");
  }
}

void GrpcSession::end_request(GrpcCall& call) {
  if (call.stage_ != GrpcCall::Stage::reading) return;
  const std::string_view all = call.in_.empty() ? call.view_ : call.in_;
  if (all.size() < MessagePrefix::kSize ||
      all.size() - MessagePrefix::kSize != read_prefix(all).size) {
    server_.count_bad(400);
    return fail(call, GrpcCode::invalid_argument, "the call ended within its message");
  }
  call.stage_ = GrpcCall::Stage::deciding;
  call.owed_ = true;
  server_.handler_.handle(call.method_, all.substr(MessagePrefix::kSize), call);
  consume(call);
}

// What has arrived of the call needs no more room.
void GrpcSession::consume(GrpcCall& call) {
  if (call.session_ == nullptr) return;
  call.view_ = {};
  call.in_.clear();
  if (call.unconsumed_ != 0) {
    nghttp2_session_consume_connection(session_.get(), std::exchange(call.unconsumed_, 0));
  }
}

// The stream of the call is gone.
void GrpcSession::detach(GrpcCall& call) {
  if (call.unconsumed_ != 0) {
    nghttp2_session_consume_connection(session_.get(), std::exchange(call.unconsumed_, 0));
  }
  if (call.touched_ != 0) touched_[call.touched_ - 1] = nullptr;
  server_.held_ -= std::exchange(call.held_, 0);
  server_.loop_.timers().cancel(call.timer_);
  call.timer_ = {};
  calls_[call.index_] = calls_.back();
  calls_[call.index_]->index_ = call.index_;
  calls_.pop_back();
  --server_.open_calls_;
  const bool streams = call.stage_ == GrpcCall::Stage::streaming;
  call.session_ = nullptr;
  if (streams) {
    call.owed_ = false;
    server_.handler_.gone(call);
  }
  if (!call.owed_) server_.give_back(call);
}

}  // namespace suimon::door
