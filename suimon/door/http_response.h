// HTTP/1.1 responses into bytes.
//
// Nothing is allocated besides the growth of the output. A name or value can never end its line:
// CR, LF, NUL and other control bytes are written as a space (in a name: as "-").
// Thread rule: pure functions.
#pragma once

#include <ctime>
#include <span>
#include <string>
#include <string_view>

#include "suimon/door/http_codec.h"

namespace suimon::door {

struct HttpResponse {
  int status = 200;
  std::span<const HttpField> fields{};  // all but Content-Length, Connection and Date
  std::string_view
      lines{};  // more fields, as finished lines ("Name: value\r\n"...), by trusted code
  std::string_view body{};
  std::string_view date{};  // an IMF-fixdate, written as Date where given
  bool close = false;       // "Connection: close"
  bool head = false;        // the request was HEAD: the length of the body, not the body
};

void append_response(const HttpResponse& response, std::string& out);

// "HTTP/1.1 100 Continue": the client may send its body.
void append_continue(std::string& out);

// One field line, for whoever writes fields one after the other.
void append_field(std::string_view name, std::string_view value, std::string& out);

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 section 5.6.7).
std::string imf_fixdate(std::time_t unix_seconds);

// "Too Many Requests" for 429; "" for a status that has no registered phrase.
std::string_view reason_phrase(int status);

}  // namespace suimon::door
