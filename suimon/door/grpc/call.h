// What stands in the head of a gRPC call and at its end.
//
// Source: "gRPC over HTTP2" (PROTOCOL-HTTP2) and "gRPC status codes" of the gRPC documentation.
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "suimon/time.h"

namespace suimon::door {

// Those that we send.
enum class GrpcCode : std::uint8_t {
  ok = 0,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  resource_exhausted = 8,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
};

// grpc-timeout: at most eight digits and a unit (H, M, S, m, u, n). Nothing for anything else.
std::optional<Duration> parse_grpc_timeout(std::string_view text);

// Whether a request with this content-type is gRPC with messages of Protocol Buffers.
bool is_grpc(std::string_view content_type);

// grpc-message: everything but printable ASCII, and %, is written as %XX.
std::string percent_encoded(std::string_view text);

// The five bytes before a message: whether it is compressed, and its length.
struct MessagePrefix {
  static constexpr std::size_t kSize = 5;
  bool compressed = false;
  std::uint32_t size = 0;
};
MessagePrefix read_prefix(std::string_view bytes);  // requires kSize of them
void append_prefix(std::size_t size, std::string& out);

}  // namespace suimon::door
