// HTTP/1.1 requests out of bytes: no sockets, no clock, no allocation per request once warm.
//
// Strict where leniency lets two parties read one stream differently (request smuggling): one
// message has one length, lines end with CR LF, and nothing is repaired. Source: RFC 9110, 9112.
// The bytes decide the result, not how they were cut into pieces.
// Thread rule: values; one thread each. Complexity: linear in the bytes, however slowly they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/door/http_request.h"

namespace suimon::door {

struct HttpLimits {
  std::size_t target_bytes = 8192;
  std::size_t header_bytes = 16'384;  // all field lines together; trailers have as much again
  std::size_t header_fields = 100;
  std::size_t body_bytes = 1 << 20;  // after decoding; chunk framing may take an eighth more
};

class HttpParser {
 public:
  enum class Status : std::uint8_t { need_more, request, bad };

  explicit HttpParser(const HttpLimits& limits) : limits_(limits) {}

  // `in` begins at the first byte of the message (`consumed` bytes behind the one before) and is
  // offered again, longer and perhaps elsewhere in memory, until the message is complete. Then, and
  // only then, `consumed` is its length; the next call begins the next message.
  Status parse(std::string_view in, std::size_t& consumed);

  // The complete request: views into `in` or into the parser, valid until the next parse or reset.
  const HttpRequest& request() const { return request_; }

  // After Status::bad, which stays until reset(): the status to answer with and why; of a bound
  // that was crossed, the bound.
  int error_status() const { return error_status_; }
  std::string_view error_reason() const { return error_reason_; }
  // Whether the bad request is known to be HEAD, whose answer has no body.
  bool bad_head() const { return request_.method == "HEAD"; }

  // After Status::need_more: the client waits for "100 Continue" before it sends the body.
  bool wants_continue() const { return expects_ && !body_began_; }

  // Forgets a message that is half read, or bad.
  void reset();

 private:
  enum class Phase : std::uint8_t {
    leading,
    header,
    fixed_body,
    chunk_size,
    chunk_data,
    chunk_end,
    trailers,
    done,
    bad
  };
  enum class Line : std::uint8_t { more, found, bad };
  // A limit, and what is told of whoever crosses it: "the header is longer than 16384 bytes".
  struct Bound {
    int status;
    std::string_view what;
    std::size_t most;
    std::string_view unit = " bytes";
  };
  // What the header has said so far about the message itself.
  struct Seen {
    bool host = false, length = false, encoding = false, chunked = false;
    bool expectation = false, unknown_expectation = false;
    bool close = false, keep_alive = false;
  };

  // Each of these reads on as far as the bytes go: false when they do not go far enough, or when
  // the message is bad (phase_).
  bool step(std::string_view in);
  bool skip_leading(std::string_view in);
  bool read_header(std::string_view in);
  bool read_fixed_body(std::string_view in);
  bool read_chunk_size(std::string_view in);
  bool read_chunk_data(std::string_view in);
  bool read_chunk_end(std::string_view in);
  bool read_trailer(std::string_view in);

  bool read_request_line(std::string_view line);
  bool read_field(std::string_view line);
  bool note_field(std::string_view name, std::string_view value);
  bool finish_header();
  // The line that begins at at_ and ends, with its CR LF, at `limit` or before.
  Line next_line(std::string_view in, std::size_t limit, const Bound& bound,
                 std::string_view& line);
  bool fail(int status, std::string_view reason);
  bool fail(const Bound& bound);
  bool fail_body() { return fail({413, "the body is longer than ", limits_.body_bytes}); }
  bool fail_framing() {
    return fail({413, "the chunks' framing is longer than ", framing_limit()});
  }
  void rebase(const char* base);
  std::size_t framing_limit() const { return limits_.header_bytes + limits_.body_bytes / 8; }

  HttpLimits limits_;
  HttpRequest request_;
  std::vector<HttpField> fields_;
  std::string body_;            // a chunked body, decoded
  const char* base_ = nullptr;  // where `in` began when the views were made; only compared
  std::size_t start_ = 0;       // of the request line, behind leading empty lines
  std::size_t at_ = 0;          // everything before this is read
  std::size_t scanned_ = 0;     // between at_ and this there is no line end
  std::size_t fields_at_ = 0;   // of the first field line; 0: the request line is not complete
  std::size_t trailers_at_ = 0;
  std::size_t remaining_ = 0;  // bytes of the fixed body or of this chunk
  std::size_t framing_ = 0;    // wire bytes of a chunked body that are not data
  int error_status_ = 0;
  std::string error_reason_;
  Phase phase_ = Phase::leading;
  Seen seen_;
  bool expects_ = false;     // "Expect: 100-continue", until the message ends
  bool body_began_ = false;  // at least one byte of the body is there
};

}  // namespace suimon::door
