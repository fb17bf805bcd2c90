// The answering half of a gRPC session, and what nghttp2 calls.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "suimon/base/text.h"
#include "suimon/door/grpc/session.h"

namespace suimon::door {
namespace {

// A field of ours, which stays where it is.
nghttp2_nv field(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    // nghttp2 reads them and has no const.
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

nghttp2_nv copied(nghttp2_nv pair) {
  pair.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME;
  return pair;
}

// NOLINTBEGIN(cert-err58-cpp): nothing in them throws
const std::array kHead = {field(":status", "200"), field("content-type", "application/grpc")};
const std::array kGoodEnd = {field("grpc-status", "0")};
// NOLINTEND(cert-err58-cpp)

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

// Sends what stands in the call's messages; the head first, if it is not on the way.
void GrpcSession::begin_answer(GrpcCall& call) {
  call.stage_ = call.ends_ ? GrpcCall::Stage::answering : GrpcCall::Stage::streaming;
  touch(call);
  if (call.begun_) {
    nghttp2_session_resume_data(session_.get(), call.stream_);
    return;
  }
  call.begun_ = true;
  const nghttp2_data_provider provider{
      {.ptr = &call},
      [](nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t room, std::uint32_t* flags,
         nghttp2_data_source* source, void* self) -> ssize_t {
        return static_cast<GrpcSession*>(self)->read_answer(*static_cast<GrpcCall*>(source->ptr),
                                                            to, room, *flags);
      }};
  nghttp2_submit_response(session_.get(), call.stream_, kHead.data(), kHead.size(), &provider);
}

ssize_t GrpcSession::read_answer(GrpcCall& call, std::uint8_t* to, std::size_t room,
                                 std::uint32_t& flags) {
  const std::size_t size = std::min(room, call.sealed_ - call.out_at_);
  std::memcpy(to, call.out_.data() + call.out_at_, size);
  call.out_at_ += size;
  if (call.out_at_ < call.sealed_) return static_cast<ssize_t>(size);
  if (!call.ends_) {
    call.out_.clear();
    call.out_at_ = call.sealed_ = 0;
    return size == 0 ? ssize_t{NGHTTP2_ERR_DEFERRED} : static_cast<ssize_t>(size);
  }
  flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
  if (call.code_ == GrpcCode::ok) {
    nghttp2_submit_trailer(session_.get(), call.stream_, kGoodEnd.data(), kGoodEnd.size());
  } else {
    const std::string code = std::to_string(static_cast<unsigned>(call.code_));
    const nghttp2_nv end = copied(field("grpc-status", code));
    nghttp2_submit_trailer(session_.get(), call.stream_, &end, 1);
  }
  return static_cast<ssize_t>(size);
}

// Ends a call without a message of ours to come.
void GrpcSession::fail(GrpcCall& call, GrpcCode code, std::string_view text) {
  call.code_ = code;
  if (call.begun_) {  // then the end comes in trailers
    call.ends_ = true;
    return begin_answer(call);
  }
  call.stage_ = GrpcCall::Stage::ignoring;
  touch(call);
  consume(call);
  const std::string number = std::to_string(static_cast<unsigned>(code));
  const std::string message = percent_encoded(text);
  const std::array head = {kHead[0], kHead[1], copied(field("grpc-status", number)),
                           copied(field("grpc-message", message))};
  nghttp2_submit_response(session_.get(), call.stream_, head.data(), head.size(), nullptr);
}

// For requests that are not gRPC at all, as its rules have it.
void GrpcSession::refuse_http(GrpcCall& call, int status) {
  server_.count_bad(status);
  call.stage_ = GrpcCall::Stage::ignoring;
  touch(call);
  consume(call);
  const std::string text = std::to_string(status);
  const std::array head = {copied(field(":status", text)), field("content-length", "0")};
  nghttp2_submit_response(session_.get(), call.stream_, head.data(), head.size(), nullptr);
}

void GrpcSession::reset(GrpcCall& call, std::uint32_t code) {
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, call.stream_, code);
}

// To be looked at when the bytes that are being read are through.
void GrpcSession::touch(GrpcCall& call) {
  if (call.touched_ != 0) return;
  touched_.push_back(&call);
  call.touched_ = touched_.size();
}

// Of the calls that something has happened to, those that are still open: the bytes that they
// view go, and from now on they wait for something.
void GrpcSession::settle_touched() {
  bool too_much = false;
  for (GrpcCall* call : touched_) {
    if (call == nullptr) continue;
    call->touched_ = 0;
    if (!call->view_.empty()) call->in_ = std::exchange(call->view_, {});
    const std::size_t now = call->in_.size() + call->out_.size();
    server_.held_ += now - std::exchange(call->held_, now);
    arm(*call);
    if (now == 0 || server_.held_ <= server_.limits_.held_bytes) continue;
    ++server_.refused_calls_;
    reset(*call, NGHTTP2_ENHANCE_YOUR_CALM);
    too_much = true;
  }
  touched_.clear();
  if (too_much) pump();
}

void GrpcSession::arm(GrpcCall& call) {
  net::Timers& timers = server_.loop_.timers();
  timers.cancel(call.timer_);
  call.timer_ = {};
  Duration wait{0};
  switch (call.stage_) {
    case GrpcCall::Stage::head:
    case GrpcCall::Stage::reading:
      wait = server_.limits_.read_timeout;
      if (call.timeout_ > Duration::zero()) wait = std::min(wait, call.timeout_);
      wait -= server_.loop_.now() - call.begun_at_;
      break;
    case GrpcCall::Stage::deciding:
    case GrpcCall::Stage::streaming:
      if (call.timeout_ == Duration::zero()) return;
      wait = call.timeout_ - (server_.loop_.now() - call.begun_at_);
      break;
    case GrpcCall::Stage::answering:
    case GrpcCall::Stage::ignoring:
      wait = server_.limits_.write_timeout;
      break;
  }
  call.timer_ = timers.add(server_.loop_.now() + wait, call);
}

// Everything that nghttp2 has to send, into the connection's buffer.
void GrpcSession::pump() {
  const std::uint8_t* bytes = nullptr;
  for (;;) {
    const auto size = nghttp2_session_mem_send(session_.get(), &bytes);
    if (size <= 0) return;
    connection_.out().append(text_of(bytes, static_cast<std::size_t>(size)));
  }
}

// For what happens apart from bytes that arrive.
void GrpcSession::flush() {
  if (in_bytes_ || closing_) return;
  in_bytes_ = true;  // what is told now may lead to more
  pump();
  settle_touched();
  in_bytes_ = false;
  if (finishing_ && calls_.empty()) {
    closing_ = true;
    return connection_.close_after_flush();
  }
  connection_.flush();
}

void GrpcSession::set_callbacks(nghttp2_session_callbacks* callbacks) {
  nghttp2_session_callbacks_set_on_begin_headers_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) -> int {
        if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
        return static_cast<GrpcSession*>(self)->begin_call(frame->hd.stream_id);
      });
  nghttp2_session_callbacks_set_on_header_callback(
      callbacks,
      [](nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
         std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
         void* self) -> int {
        void* call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
        if (call == nullptr) return 0;
        return static_cast<GrpcSession*>(self)->read_header(
            *static_cast<GrpcCall*>(call), text_of(name, name_size), text_of(value, value_size));
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) -> int {
        auto* const self = static_cast<GrpcSession*>(user);
        const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
        if (frame->hd.type != NGHTTP2_HEADERS && (frame->hd.type != NGHTTP2_DATA || !ends)) {
          return 0;
        }
        GrpcCall* const call = self->call_of(frame->hd.stream_id);
        if (call == nullptr) return 0;
        if (frame->hd.type == NGHTTP2_HEADERS) {
          self->end_head(*call, ends);
        } else {
          self->end_request(*call);
        }
        return 0;
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      callbacks,
      [](nghttp2_session* session, std::uint8_t, std::int32_t stream, const std::uint8_t* data,
         std::size_t size, void* user) -> int {
        auto* const self = static_cast<GrpcSession*>(user);
        if (GrpcCall* const call = self->call_of(stream)) {
          self->read_data(*call, text_of(data, size));
        } else {
          nghttp2_session_consume_connection(session, size);
        }
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, [](nghttp2_session*, std::int32_t stream, std::uint32_t, void* user) -> int {
        auto* const self = static_cast<GrpcSession*>(user);
        if (GrpcCall* const call = self->call_of(stream)) self->detach(*call);
        return 0;
      });
}

}  // namespace suimon::door
