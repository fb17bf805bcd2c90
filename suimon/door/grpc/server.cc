#include "suimon/door/grpc/server.h"

#include <algorithm>
#include <utility>

#include "suimon/door/grpc/session.h"

namespace suimon::door {

std::string& GrpcCall::message() {
  if (out_.size() == sealed_) out_.append(MessagePrefix::kSize, '\0');
  return out_;
}

// Writes the length of the message before it.
void GrpcCall::seal() {
  const std::size_t size = out_.size() - sealed_ - MessagePrefix::kSize;
  for (std::size_t i = 1; i < MessagePrefix::kSize; ++i) {
    out_[sealed_ + i] = static_cast<char>(size >> (8 * (MessagePrefix::kSize - 1 - i)));
  }
  sealed_ = out_.size();
}

void GrpcCall::respond() {
  owed_ = false;
  if (session_ == nullptr) return server_->give_back(*this);
  if (stage_ != Stage::deciding) return;  // the deadline has passed
  message();
  seal();
  ends_ = true;
  GrpcSession& session = *session_;
  session.begin_answer(*this);
  session.flush();
}

void GrpcCall::send() {
  if (session_ == nullptr || (stage_ != Stage::deciding && stage_ != Stage::streaming)) return;
  message();
  seal();
  GrpcSession& session = *session_;
  session.begin_answer(*this);
  session.flush();
}

void GrpcCall::fail(GrpcCode code, std::string_view text) {
  owed_ = false;
  if (session_ == nullptr) return server_->give_back(*this);
  if (stage_ != Stage::deciding) return;
  GrpcSession& session = *session_;
  session.fail(*this, code, text);
  session.flush();
}

void GrpcCall::on_timer(Instant) {
  timer_ = {};
  if (session_ == nullptr) return;
  GrpcSession& session = *session_;
  switch (stage_) {
    case Stage::head:
    case Stage::answering:
    case Stage::ignoring:
      session.reset(*this, NGHTTP2_CANCEL);
      break;
    case Stage::reading:
    case Stage::deciding:
    case Stage::streaming:
      session.fail(*this, GrpcCode::deadline_exceeded, "the deadline has passed");
      break;
  }
  session.flush();
}

GrpcServer::GrpcServer(net::Loop& loop, net::Fd listener, GrpcHandler& handler,
                       const GrpcLimits& limits, const net::ServerLimits& server_limits,
                       net::Greeting greeting)
    : loop_(loop),
      handler_(handler),
      limits_(limits),
      callbacks_([] {
        nghttp2_session_callbacks* callbacks = nullptr;
        nghttp2_session_callbacks_new(&callbacks);
        return callbacks;
      }()),
      option_([] {
        nghttp2_option* option = nullptr;
        nghttp2_option_new(&option);
        return option;
      }()),
      server_(
          loop, std::move(listener),
          [this](net::Connection& connection) {
            return std::make_unique<GrpcSession>(*this, connection);
          },
          server_limits, std::move(greeting)) {
  GrpcSession::set_callbacks(callbacks_.get());
  // The window opens again as messages are complete, not as their bytes arrive.
  nghttp2_option_set_no_auto_window_update(option_.get(), 1);
  nghttp2_option_set_no_closed_streams(option_.get(), 1);
  // Its own bound, 1,000 and 33 a second, ends connections on which all is well.
  nghttp2_option_set_stream_reset_rate_limit(option_.get(), limits_.resets,
                                             limits_.resets_per_second);
}

GrpcServer::~GrpcServer() = default;

void GrpcServer::wake(Instant now) {
  if (now == woken_) return;
  woken_ = now;
  handler_.wake(now);
}

void GrpcServer::count_bad(int status) {
  const auto found = std::find(kBadStatuses.begin(), kBadStatuses.end(), status);
  if (found != kBadStatuses.end()) ++bad_[static_cast<std::size_t>(found - kBadStatuses.begin())];
}

void GrpcServer::give_back(GrpcCall& call) {
  constexpr std::size_t kMostKept = 4 << 10;
  for (std::string* text : {&call.in_, &call.out_}) {
    if (text->capacity() > kMostKept) std::string().swap(*text);
  }
  calls_.give_back(call);
}

void GrpcServer::drain() {
  server_.finish_accepting();
  // From the end: one that breaks now has the last one move into its place.
  for (std::size_t i = sessions_.size(); i-- > 0;) {
    if (i < sessions_.size()) sessions_[i]->drain();
  }
}

void GrpcServer::close_idle() {
  for (std::size_t i = sessions_.size(); i-- > 0;) {
    if (i < sessions_.size()) sessions_[i]->finish();
  }
  server_.close_idle();
}

}  // namespace suimon::door
