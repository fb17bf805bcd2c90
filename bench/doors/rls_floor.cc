// The floor under the gRPC door: nghttp2 and Protocol Buffers on epoll, one thread, and no
// decision.
//
//   rls_floor PORT     answers every call on 127.0.0.1:PORT with the same RateLimitResponse
//
// It reads the request and writes the response with Protocol Buffers' own objects, which it keeps
// from call to call, and does nothing else that a server must: no limits, no deadlines, no TLS.
#include <arpa/inet.h>
#include <envoy/service/ratelimit/v3/rls.pb.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace {

using envoy::service::ratelimit::v3::RateLimitRequest;
using envoy::service::ratelimit::v3::RateLimitResponse;

struct Connection {
  int fd = -1;
  nghttp2_session* session = nullptr;
  std::string out;
};

struct Stream {
  std::string in;
  std::string out;
  std::size_t sent = 0;
};

nghttp2_nv field(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

RateLimitRequest request;
RateLimitResponse response;

void answer(nghttp2_session* session, std::int32_t id, Stream& stream) {
  if (stream.in.size() < 5 ||
      !request.ParseFromArray(stream.in.data() + 5, static_cast<int>(stream.in.size() - 5))) {
    std::fputs("rls_floor: no RateLimitRequest\n", stderr);
    std::exit(1);
  }
  response.Clear();
  response.set_overall_code(RateLimitResponse::OK);
  for (int i = 0; i < request.descriptors_size(); ++i) {
    auto& status = *response.add_statuses();
    status.set_code(RateLimitResponse::OK);
    status.mutable_current_limit()->set_requests_per_unit(100);
    status.mutable_current_limit()->set_unit(RateLimitResponse::RateLimit::MINUTE);
    status.set_limit_remaining(99);
    status.mutable_duration_until_reset()->set_seconds(1);
  }
  const auto size = static_cast<std::uint32_t>(response.ByteSizeLong());
  const std::uint32_t length = htonl(size);
  stream.out.assign(1, '\0');
  stream.out.append(reinterpret_cast<const char*>(&length), 4);
  response.AppendToString(&stream.out);
  static const std::array head = {field(":status", "200"),
                                  field("content-type", "application/grpc")};
  const nghttp2_data_provider provider{
      {.ptr = &stream},
      [](nghttp2_session* from, std::int32_t of, std::uint8_t* to, std::size_t room,
         std::uint32_t* flags, nghttp2_data_source* source, void*) -> ssize_t {
        Stream& answered = *static_cast<Stream*>(source->ptr);
        const std::size_t part = std::min(room, answered.out.size() - answered.sent);
        std::memcpy(to, answered.out.data() + answered.sent, part);
        answered.sent += part;
        if (answered.sent == answered.out.size()) {
          static const nghttp2_nv end = field("grpc-status", "0");
          *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
          nghttp2_submit_trailer(from, of, &end, 1);
        }
        return static_cast<ssize_t>(part);
      }};
  nghttp2_submit_response(session, id, head.data(), head.size(), &provider);
}

nghttp2_session_callbacks* callbacks() {
  nghttp2_session_callbacks* all = nullptr;
  nghttp2_session_callbacks_new(&all);
  nghttp2_session_callbacks_set_on_begin_headers_callback(
      all, [](nghttp2_session* session, const nghttp2_frame* frame, void*) -> int {
        if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
          nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, new Stream);
        }
        return 0;
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      all,
      [](nghttp2_session* session, std::uint8_t, std::int32_t id, const std::uint8_t* data,
         std::size_t size, void*) -> int {
        auto* stream = static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, id));
        stream->in.append(reinterpret_cast<const char*>(data), size);
        return 0;
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      all, [](nghttp2_session* session, const nghttp2_frame* frame, void*) -> int {
        if (frame->hd.type == NGHTTP2_DATA && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
          const std::int32_t id = frame->hd.stream_id;
          answer(session, id,
                 *static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, id)));
        }
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      all, [](nghttp2_session* session, std::int32_t id, std::uint32_t, void*) -> int {
        delete static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, id));
        return 0;
      });
  return all;
}

void close(Connection* connection) {
  ::close(connection->fd);
  nghttp2_session_del(connection->session);
  delete connection;
}

void serve(Connection* connection) {
  std::array<std::uint8_t, 64 << 10> bytes;
  const auto got = ::recv(connection->fd, bytes.data(), bytes.size(), 0);
  if (got <= 0) {
    if (got == 0 || errno != EAGAIN) close(connection);
    return;
  }
  if (nghttp2_session_mem_recv(connection->session, bytes.data(), static_cast<std::size_t>(got)) <
      0) {
    return close(connection);
  }
  const std::uint8_t* part = nullptr;
  for (;;) {
    const auto size = nghttp2_session_mem_send(connection->session, &part);
    if (size <= 0) break;
    connection->out.append(reinterpret_cast<const char*>(part), static_cast<std::size_t>(size));
  }
  while (!connection->out.empty()) {
    const auto put =
        ::send(connection->fd, connection->out.data(), connection->out.size(), MSG_NOSIGNAL);
    if (put < 0 && errno != EAGAIN) return close(connection);
    if (put > 0) connection->out.erase(0, static_cast<std::size_t>(put));
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: rls_floor PORT\n", stderr);
    return 2;
  }
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<std::uint16_t>(std::atoi(arguments[1])));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(listener, 512) != 0) {
    std::perror("rls_floor");
    return 1;
  }
  const int poll = ::epoll_create1(0);
  epoll_event interest{.events = EPOLLIN, .data = {.ptr = nullptr}};
  ::epoll_ctl(poll, EPOLL_CTL_ADD, listener, &interest);
  nghttp2_session_callbacks* const told = callbacks();
  std::fputs("rls_floor: ready\n", stderr);
  std::array<epoll_event, 64> events;
  for (;;) {
    const int ready = ::epoll_wait(poll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      if (events[static_cast<std::size_t>(i)].data.ptr != nullptr) {
        serve(static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr));
        continue;
      }
      const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
      if (fd < 0) continue;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      auto* connection = new Connection{.fd = fd, .session = nullptr, .out = {}};
      nghttp2_session_server_new(&connection->session, told, connection);
      const nghttp2_settings_entry streams{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1000};
      nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, &streams, 1);
      epoll_event readable{.events = EPOLLIN, .data = {.ptr = connection}};
      ::epoll_ctl(poll, EPOLL_CTL_ADD, fd, &readable);
    }
  }
}
