#include "suimon/door/http_codec.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

#include "suimon/base/text.h"
#include "suimon/door/http_bytes.h"
#include "suimon/door/http_grammar.h"

namespace suimon::door {
namespace {

constexpr std::size_t kMaxLeading = 4;         // two empty lines before a request
constexpr std::size_t kRequestLineExtra = 64;  // a method, two spaces and a version
constexpr std::size_t kMaxSpareBody = 64 << 10;

}  // namespace

HttpParser::Status HttpParser::parse(std::string_view in, std::size_t& consumed) {
  consumed = 0;
  if (phase_ == Phase::done) reset();
  if (base_ != in.data()) rebase(in.data());
  while (step(in)) {
  }
  if (phase_ == Phase::bad) return Status::bad;
  if (phase_ != Phase::done) return Status::need_more;
  consumed = at_;
  return Status::request;
}

bool HttpParser::step(std::string_view in) {
  switch (phase_) {
    case Phase::leading:
      return skip_leading(in);
    case Phase::header:
      return read_header(in);
    case Phase::fixed_body:
      return read_fixed_body(in);
    case Phase::chunk_size:
      return read_chunk_size(in);
    case Phase::chunk_data:
      return read_chunk_data(in);
    case Phase::chunk_end:
      return read_chunk_end(in);
    case Phase::trailers:
      return read_trailer(in);
    case Phase::done:
    case Phase::bad:
      break;
  }
  return false;
}

bool HttpParser::skip_leading(std::string_view in) {
  while (start_ < kMaxLeading && start_ < in.size() && in[start_] == "\r\n"[start_ % 2]) ++start_;
  if (start_ == in.size()) return false;
  if (start_ % 2 != 0 || !is_token(in[start_])) {
    return fail(400, "the request does not begin with a method");
  }
  at_ = scanned_ = start_;
  phase_ = Phase::header;
  return true;
}

HttpParser::Line HttpParser::next_line(std::string_view in, std::size_t limit, const Bound& bound,
                                       std::string_view& line) {
  const void* found = scanned_ < in.size()
                          ? std::memchr(in.data() + scanned_, '\n', in.size() - scanned_)
                          : nullptr;
  const std::size_t end =
      found == nullptr ? in.size()
                       : static_cast<std::size_t>(static_cast<const char*>(found) - in.data()) + 1;
  // What comes first on the wire decides, so that the cut of the bytes does not.
  if (end > limit) {
    fail(bound);
    return Line::bad;
  }
  if (found == nullptr) {
    scanned_ = end;
    return Line::more;
  }
  if (end - at_ < 2 || in[end - 2] != '\r') {
    fail(400, "a line ends with LF alone; lines end with CR LF");
    return Line::bad;
  }
  line = in.substr(at_, end - 2 - at_);
  at_ = scanned_ = end;
  return Line::found;
}

bool HttpParser::read_header(std::string_view in) {
  std::string_view line;
  if (fields_at_ == 0) {
    const std::size_t limit = start_ + limits_.target_bytes + kRequestLineExtra;
    const Bound bound{414, "the request's target is longer than ", limits_.target_bytes};
    if (next_line(in, limit, bound, line) != Line::found) return false;
    fields_at_ = at_;
    return read_request_line(line);
  }
  const std::size_t limit = fields_at_ + limits_.header_bytes;
  const Bound bound{431, "the header is longer than ", limits_.header_bytes};
  if (next_line(in, limit, bound, line) != Line::found) return false;
  return line.empty() ? finish_header() : read_field(line);
}

// request-line = method SP request-target SP HTTP-version
bool HttpParser::read_request_line(std::string_view line) {
  const std::size_t method_end = token_length(line);
  if (method_end == 0 || method_end == line.size() || line[method_end] != ' ') {
    return fail(400, "the request line does not begin with a method and a space");
  }
  request_.method = line.substr(0, method_end);
  line.remove_prefix(method_end + 1);
  const std::size_t target_end = std::min(line.find(' '), line.size());
  request_.target = line.substr(0, target_end);
  const std::string_view version = line.substr(std::min(target_end + 1, line.size()));
  if (request_.target.empty() || has_control(request_.target) ||
      request_.target.find('\t') != std::string_view::npos) {
    return fail(400, "the request line has no target between single spaces");
  }
  if (!is_version(version)) return fail(400, "the request line does not end with HTTP/1.1");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return fail(505, "this door speaks HTTP/1.1 and HTTP/1.0");
  }
  if (request_.target.size() > limits_.target_bytes) {
    return fail({414, "the request's target is longer than ", limits_.target_bytes});
  }
  if (request_.method == "CONNECT") return fail(501, "this is no proxy; CONNECT is not known here");
  if (!is_target(request_.target, request_.method)) {
    return fail(400, "the target is neither a path that begins with / nor an http:// address");
  }
  request_.minor = version.back() - '0';
  return true;
}

// field-line = field-name ":" OWS field-value OWS
bool HttpParser::read_field(std::string_view line) {
  if (line.front() == ' ' || line.front() == '\t') {
    return fail(400, "a field line begins with white space; folded lines are obsolete");
  }
  const std::size_t name_end = token_length(line);
  if (name_end == 0 || name_end == line.size() || line[name_end] != ':') {
    return fail(400, "a field name is not a token directly before its colon");
  }
  const std::string_view name = line.substr(0, name_end);
  const std::string_view value = trimmed(line.substr(name_end + 1));
  if (has_control(value)) return fail(400, "a field value has a control byte");
  if (fields_.size() >= limits_.header_fields) {
    return fail({431, "the header has more than ", limits_.header_fields, " fields"});
  }
  fields_.push_back({name, value});
  return note_field(name, value);
}

// Keeps what decides about the message itself.
bool HttpParser::note_field(std::string_view name, std::string_view value) {
  if (equal_ignoring_case(name, "host")) {
    if (std::exchange(seen_.host, true)) return fail(400, "Host appears twice; send it once");
    if (!is_host(value)) return fail(400, "Host is not a name or address and a port");
  } else if (equal_ignoring_case(name, "content-length")) {
    if (std::exchange(seen_.length, true)) {
      return fail(400, "Content-Length appears twice; send it once");
    }
    const char* const end = value.data() + value.size();
    const auto [last, code] = std::from_chars(value.data(), end, remaining_);
    if (code == std::errc::result_out_of_range && last == end) {
      remaining_ = std::numeric_limits<std::size_t>::max();  // too large, which is said in time
    } else if (code != std::errc{} || last != end) {
      return fail(400, "Content-Length is not one number");
    }
  } else if (equal_ignoring_case(name, "transfer-encoding")) {
    if (std::exchange(seen_.encoding, true)) {
      return fail(400, "Transfer-Encoding appears twice; send it once");
    }
    seen_.chunked = equal_ignoring_case(value, "chunked");
  } else if (equal_ignoring_case(name, "expect")) {
    seen_.unknown_expectation = seen_.expectation || !equal_ignoring_case(value, "100-continue");
    seen_.expectation = true;
  } else if (equal_ignoring_case(name, "connection")) {
    seen_.close = seen_.close || lists_token(value, "close");
    seen_.keep_alive = seen_.keep_alive || lists_token(value, "keep-alive");
  }
  return true;
}

// The header is complete: is it one that can be answered, and where does the message end?
bool HttpParser::finish_header() {
  request_.fields = fields_;
  request_.keep_alive = !seen_.close && (request_.minor == 1 || seen_.keep_alive);
  if (!seen_.host && request_.minor == 1) return fail(400, "Host is missing");
  if (seen_.encoding) {
    if (seen_.length) {
      return fail(400, "Transfer-Encoding stands beside Content-Length; send one of them");
    }
    if (request_.minor == 0) return fail(400, "HTTP/1.0 has no Transfer-Encoding");
    if (!seen_.chunked) return fail(501, "the only Transfer-Encoding here is chunked");
  }
  if (remaining_ > limits_.body_bytes) return fail_body();
  if (seen_.unknown_expectation) {
    return fail(417, "the only expectation met here is 100-continue");
  }
  // An HTTP/1.0 client would not understand the interim answer (RFC 9110 section 10.1.1).
  expects_ = seen_.expectation && request_.minor == 1;
  phase_ = seen_.encoding ? Phase::chunk_size : Phase::fixed_body;
  return true;
}

bool HttpParser::read_fixed_body(std::string_view in) {
  body_began_ = in.size() > at_;
  if (in.size() - at_ < remaining_) return false;
  request_.body = in.substr(at_, remaining_);
  at_ += remaining_;
  phase_ = Phase::done;
  expects_ = false;
  return false;
}

bool HttpParser::read_chunk_size(std::string_view in) {
  body_began_ = body_began_ || in.size() > at_;
  const std::size_t begin = at_;
  std::string_view line;
  const std::size_t limit = begin + (framing_limit() - framing_);
  const Bound bound{413, "the chunks' framing is longer than ", framing_limit()};
  if (next_line(in, limit, bound, line) != Line::found) return false;
  framing_ += at_ - begin;
  std::uint64_t size = 0;
  const auto [last, code] = std::from_chars(line.data(), line.data() + line.size(), size, 16);
  const std::string_view rest = line.substr(static_cast<std::size_t>(last - line.data()));
  if (code == std::errc::result_out_of_range) return fail_body();
  if (code != std::errc{} || has_control(rest) || !is_extensions(rest)) {
    return fail(400, "a chunk's size is not a hexadecimal number alone on its line");
  }
  if (size > limits_.body_bytes - body_.size()) return fail_body();
  remaining_ = size;
  trailers_at_ = at_;
  phase_ = size == 0 ? Phase::trailers : Phase::chunk_data;
  return true;
}

bool HttpParser::read_chunk_data(std::string_view in) {
  const std::size_t there = std::min(remaining_, in.size() - at_);
  body_.append(in.substr(at_, there));
  at_ += there;
  remaining_ -= there;
  if (remaining_ > 0) return false;
  phase_ = Phase::chunk_end;
  return true;
}

bool HttpParser::read_chunk_end(std::string_view in) {
  const std::string_view end = in.substr(at_, 2);
  if (!std::string_view("\r\n").starts_with(end)) {
    return fail(400, "a chunk is longer than its size says");
  }
  if (end.size() < 2) return false;
  at_ += 2;
  scanned_ = at_;
  framing_ += 2;
  if (framing_ > framing_limit()) return fail_framing();
  phase_ = Phase::chunk_size;
  return true;
}

bool HttpParser::read_trailer(std::string_view in) {
  std::string_view line;
  const std::size_t limit = trailers_at_ + limits_.header_bytes;
  const Bound bound{431, "the trailers are longer than ", limits_.header_bytes};
  if (next_line(in, limit, bound, line) != Line::found) return false;
  if (line.empty()) {
    request_.body = body_;
    phase_ = Phase::done;
    expects_ = false;
    return false;
  }
  // Trailers are read over, but not so that another party could find the message's end elsewhere.
  const std::size_t name_end = token_length(line);
  if (has_control(line) || name_end == 0 || name_end == line.size() || line[name_end] != ':') {
    return fail(400, "a trailer line is malformed");
  }
  return true;
}

bool HttpParser::fail(int status, std::string_view reason) {
  error_status_ = status;
  error_reason_ = reason;
  phase_ = Phase::bad;
  expects_ = false;
  return false;
}

bool HttpParser::fail(const Bound& bound) {
  fail(bound.status, bound.what);
  error_reason_ += std::to_string(bound.most);
  error_reason_ += bound.unit;
  return false;
}

// The same bytes lie elsewhere now: the views follow them.
void HttpParser::rebase(const char* base) {
  const auto move = [&](std::string_view& text) {
    // As numbers: pointers into memory that is gone cannot be subtracted.
    const auto offset =
        reinterpret_cast<std::uintptr_t>(text.data()) - reinterpret_cast<std::uintptr_t>(base_);
    text = {base + offset, text.size()};
  };
  if (!fields_.empty() || !request_.method.empty()) {
    move(request_.method);
    move(request_.target);
    for (HttpField& f : fields_) {
      move(f.name);
      move(f.value);
    }
  }
  base_ = base;
}

void HttpParser::reset() {
  request_ = {};
  fields_.clear();
  body_.clear();
  if (body_.capacity() > kMaxSpareBody) std::string().swap(body_);
  start_ = at_ = scanned_ = fields_at_ = trailers_at_ = remaining_ = framing_ = 0;
  error_status_ = 0;
  error_reason_.clear();
  phase_ = Phase::leading;
  seen_ = {};
  expects_ = body_began_ = false;
}

}  // namespace suimon::door
