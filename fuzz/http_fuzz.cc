// Streams of HTTP requests: the same bytes mean the same however they are cut, and what is accepted
// here means the same to another parser (Boost.Beast), for two readings of one stream are how
// requests are smuggled.
#include <algorithm>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "suimon/door/http_codec.h"

namespace {

namespace http = boost::beast::http;
using suimon::door::HttpField;
using suimon::door::HttpLimits;
using suimon::door::HttpParser;
using suimon::door::HttpRequest;

void require(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "http_fuzz: %s\n", what);
  std::abort();
}

// What the parser said last, so that two parses can be compared.
void describe(const HttpParser& parser, HttpParser::Status status, std::string& out) {
  if (status == HttpParser::Status::bad) {
    out += "bad " + std::to_string(parser.error_status()) + " ";
    out += parser.error_reason();
    return;
  }
  if (status == HttpParser::Status::need_more) {
    out += parser.wants_continue() ? "waits for continue" : "more";
    return;
  }
  const HttpRequest& request = parser.request();
  for (const std::string_view part : {request.method, request.target, request.body}) {
    out += std::to_string(part.size()) + ":";
    out += part;
  }
  out += std::to_string(request.minor) + (request.keep_alive ? "k" : "c");
  for (const HttpField& f : request.fields) {
    out += '\n';
    out += f.name;
    out += '=';
    out += f.value;
  }
  out += "\n\n";
}

// `bytes` is one message that was accepted.
void compare_with_beast(std::string_view bytes, const HttpRequest& ours) {
  while (bytes.starts_with("\r\n")) bytes.remove_prefix(2);
  http::request_parser<http::string_body> parser;
  parser.header_limit(std::numeric_limits<std::uint32_t>::max());
  parser.body_limit(boost::none);
  parser.eager(true);
  boost::beast::error_code code;
  const std::size_t used = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), code);
  // Lists in Connection and chunk extensions are read over here and checked there.
  if (code == http::error::bad_value || code == http::error::bad_chunk_extension) return;
  const bool chunked = ours.count("transfer-encoding") > 0;
  // Trailers are fields to the other parser, with all the demands on those.
  if (chunked && !bytes.ends_with("\r\n0\r\n\r\n")) return;
  require(!code, code.message().c_str());
  require(used == bytes.size() && parser.is_done(), "the messages end at different places");
  const auto& theirs = parser.get();
  require(theirs.method_string() == ours.method, "two methods");
  require(theirs.target() == ours.target, "two targets");
  require(theirs.version() == 10u + static_cast<unsigned>(ours.minor), "two versions");
  require(theirs.body() == ours.body, "two bodies");
  std::size_t fields = 0;
  for (const auto& field : theirs) {
    ++fields;
    const std::string_view name = field.name_string();
    bool found = false;
    for (const HttpField& f : ours.fields) {
      found = found || (f.name == name && f.value == std::string_view(field.value()));
    }
    require(found, "a field that only the other parser sees");
  }
  require(fields == ours.fields.size(), "a field that the other parser does not see");
}

std::string parse_whole(std::string_view in, const HttpLimits& limits) {
  HttpParser parser(limits);
  std::string log;
  for (;;) {
    std::size_t consumed = 0;
    const auto status = parser.parse(in, consumed);
    describe(parser, status, log);
    if (status != HttpParser::Status::request) return log;
    require(consumed > 0 && consumed <= in.size(), "a message of no length");
    compare_with_beast(in.substr(0, consumed), parser.request());
    in.remove_prefix(consumed);
  }
}

// As a connection does it: a buffer that grows by some bytes at a time and loses what is consumed.
std::string parse_cut(std::string_view in, const HttpLimits& limits, std::uint32_t random) {
  HttpParser parser(limits);
  std::string log;
  std::string buffer;
  const std::uint32_t largest = 1 + random % 64;
  for (;;) {
    std::size_t consumed = 0;
    // A new place in memory each time, so that a view into the old one is found out.
    const std::string moved = buffer;
    const auto status = parser.parse(moved, consumed);
    if (status == HttpParser::Status::request) {
      describe(parser, status, log);
      buffer.erase(0, consumed);
      continue;
    }
    if (status == HttpParser::Status::bad || in.empty()) {
      describe(parser, status, log);
      return log;
    }
    random = random * 1664525 + 1013904223;
    const std::size_t step = std::min<std::size_t>(in.size(), 1 + (random >> 16) % largest);
    buffer += in.substr(0, step);
    in.remove_prefix(step);
  }
}

}  // namespace

// The first two bytes choose the cuts and the limits, the rest is the stream.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view in(reinterpret_cast<const char*>(data) + 2, size - 2);
  HttpLimits limits;
  if (data[1] % 2 == 1) {
    limits = {.target_bytes = 12, .header_bytes = 80, .header_fields = 4, .body_bytes = 40};
  }
  const std::string whole = parse_whole(in, limits);
  const std::string cut = parse_cut(in, limits, data[0] + 256u * data[1]);
  require(whole == cut, "the cuts change the meaning");
  return 0;
}
