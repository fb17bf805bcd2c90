#include "suimon/door/http_codec.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "suimon/door/http_response.h"

namespace suimon::door {
namespace {

using Status = HttpParser::Status;

// Everything that a parse says about the first message of some bytes, as text.
std::string describe(const HttpParser& parser, Status status, std::size_t consumed) {
  if (status == Status::bad) {
    return "bad " + std::to_string(parser.error_status()) + " " +
           std::string(parser.error_reason());
  }
  if (status == Status::need_more) return "need_more";
  const HttpRequest& r = parser.request();
  std::string text = std::string(r.method) + "|" + std::string(r.target) + "|1." +
                     std::to_string(r.minor) + (r.keep_alive ? "|keep" : "|close");
  for (const HttpField& f : r.fields) {
    text += "|" + std::string(f.name) + "=" + std::string(f.value);
  }
  return text + "|body=" + std::string(r.body) + "|" + std::to_string(consumed);
}

// Offers the prefixes of `in` that end at `cuts` (ascending), each from memory of its own, as a
// connection's buffer would move.
std::string parse_in_pieces(std::string_view in, const std::vector<std::size_t>& cuts,
                            const HttpLimits& limits) {
  HttpParser parser(limits);
  std::unique_ptr<std::string> memory;
  std::size_t consumed = 0;
  Status status = Status::need_more;
  for (const std::size_t cut : cuts) {
    memory = std::make_unique<std::string>(in.substr(0, cut));
    status = parser.parse(*memory, consumed);
    if (status != Status::need_more) break;
    EXPECT_EQ(consumed, 0u);
  }
  return describe(parser, status, consumed);
}

std::string parse_whole(std::string_view in, const HttpLimits& limits = {}) {
  return parse_in_pieces(in, {in.size()}, limits);
}

void expect_cuts_change_nothing(std::string_view in, const HttpLimits& limits = {}) {
  const std::string whole = parse_whole(in, limits);
  std::vector<std::size_t> bytes;
  for (std::size_t i = 0; i <= in.size(); ++i) {
    bytes.push_back(i);
    EXPECT_EQ(parse_in_pieces(in, {i, in.size()}, limits), whole) << "cut at " << i;
  }
  EXPECT_EQ(parse_in_pieces(in, bytes, limits), whole) << "byte by byte";
}

struct Good {
  std::string_view bytes, means;
};

const Good kGood[] = {
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET|/|1.1|keep|Host=a|body=|27"},
    {"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET|/|1.1|keep|Host=a|body=|31"},
    {"GET / HTTP/1.0\r\n\r\n", "GET|/|1.0|close|body=|18"},
    {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
     "GET|/|1.0|keep|Connection=Keep-Alive|body=|42"},
    {"GET / HTTP/1.1\r\nHost:\r\nConnection: x, Close\r\n\r\n",
     "GET|/|1.1|close|Host=|Connection=x, Close|body=|47"},
    {"GET /a?b=%20&c=\xc3\xa9 HTTP/1.1\r\nhOsT: a\r\n\r\n",
     "GET|/a?b=%20&c=\xc3\xa9|1.1|keep|hOsT=a|body=|39"},
    {"OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "OPTIONS|*|1.1|keep|Host=[::1]:80|body=|38"},
    {"GET HTTP://a/b HTTP/1.1\r\nHost:\r\n\r\n", "GET|HTTP://a/b|1.1|keep|Host=|body=|34"},
    {"GET http://shop.example/items HTTP/1.1\r\nHost: shop.example\r\n\r\n",
     "GET|http://shop.example/items|1.1|keep|Host=shop.example|body=|62"},
    {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS|*|1.1|keep|Host=a|body=|31"},
    {"M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n", "M-SEARCH|/|1.1|keep|Host=a|body=|32"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: \t padded value \t\r\nY:\xff\r\n\r\n",
     "GET|/|1.1|keep|Host=a|X=padded value|Y=\xff|body=|53"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET",
     "POST|/|1.1|keep|Host=a|Content-Length=5|body=hello|52"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
     "POST|/|1.1|keep|Host=a|Content-Length=0|body=|47"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
     "5\r\nhello\r\n6;name=value\r\n world\r\n00\r\nTrailer: yes\r\n\r\nGET",
     "POST|/|1.1|keep|Host=a|Transfer-Encoding=Chunked|body=hello world|108"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n",
     "POST|/|1.1|keep|Host=a|Transfer-Encoding=chunked|body=0123456789|76"},
    {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\nok",
     "POST|/|1.1|keep|Host=a|Expect=100-Continue|Content-Length=2|body=ok|71"},
};

TEST(HttpCodec, GoodMessagesMeanWhatTheySayHoweverTheyAreCut) {
  for (const Good& good : kGood) {
    SCOPED_TRACE(good.bytes);
    EXPECT_EQ(parse_whole(good.bytes), good.means);
    expect_cuts_change_nothing(good.bytes);
  }
}

struct Bad {
  int status;
  std::string_view bytes;
};

// Every header that follows is complete, so that nothing but the mistake decides.
#define SUIMON_POST "POST / HTTP/1.1\r\nHost: a\r\n"
#define SUIMON_CHUNKED SUIMON_POST "Transfer-Encoding: chunked\r\n\r\n"
const Bad kBad[] = {
    // The request line.
    {400, "\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {400, "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {400, "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {400, " GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {400, "\x16\x03\x01\x02"},
    {400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {400, "GET /  HTTP/1.1\r\nHost: a\r\n\r\n"},
    {400, "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"},
    {400, "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"},
    {400, "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n"},
    {400, "G(T / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {400, "GET /\r\n\r\n"},
    {400, "GET / http/1.1\r\nHost: a\r\n\r\n"},
    {400, "GET / HTTP/11\r\nHost: a\r\n\r\n"},
    {400, "GET / HTTP/1.1\nHost: a\r\n\r\n"},
    {400, "GET / HTTP/1.1\rHost: a\r\n\r\n"},
    {400, "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"},
    {400, "GET a HTTP/1.1\r\nHost: a\r\n\r\n"},
    {400, "GET * HTTP/1.1\r\nHost: a\r\n\r\n"},
    {400, "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"},
    {400, "GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n"},
    {501, "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n"},
    {505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
    {505, "GET / HTTP/1.2\r\nHost: a\r\n\r\n"},
    {505, "GET / HTTP/0.9\r\n\r\n"},
    // Field lines.
    {400, "GET / HTTP/1.1\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"},
    {400, "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: user@a\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX\t: y\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n folded\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\tfolded\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\n Host: a\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX: y\nZ: z\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX: y\rZ: z\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\n\n"},
    {400, "GET / HTTP/1.1\nHost: a\n\n"},
    {400, std::string_view("GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n", 34)},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX: \x1b[m\r\n\r\n"},
    {417, "GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n"},
    // The length of the message.
    {400, SUIMON_POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"},
    {400, SUIMON_POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"},
    {400, SUIMON_POST "Content-Length: 5, 5\r\n\r\nhello"},
    {400, SUIMON_POST "Content-Length: +5\r\n\r\nhello"},
    {400, SUIMON_POST "Content-Length: -5\r\n\r\nhello"},
    {400, SUIMON_POST "Content-Length: 0x5\r\n\r\nhello"},
    {400, SUIMON_POST "Content-Length: 5 5\r\n\r\nhello"},
    {400, SUIMON_POST "Content-Length:\r\n\r\n"},
    {413, SUIMON_POST "Content-Length: 99999999999999999999999999\r\n\r\n"},
    {400, SUIMON_POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {400, SUIMON_POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"},
    {400, SUIMON_POST "Transfer-Encoding: gzip\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"},
    {400, SUIMON_POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {400, SUIMON_POST "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {501, SUIMON_POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
    {501, SUIMON_POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"},
    {501, SUIMON_POST "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n"},
    {501, SUIMON_POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"},
    {501, SUIMON_POST "Transfer-Encoding: identity\r\n\r\n"},
    {501, SUIMON_POST "Transfer-Encoding:\r\n\r\n"},
    {413, SUIMON_POST "Content-Length: 1048577\r\n\r\n"},
    // Chunks.
    {400, SUIMON_CHUNKED "5 \r\nhello\r\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED " 5\r\nhello\r\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED "0x5\r\nhello\r\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED "-5\r\nhello\r\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED "\r\nhello\r\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED "5\nhello\r\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED "5;\r\nhello\r\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED "5;a=\r\nhello\r\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED "5;a=\"\r\nhello\r\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED "5;a=\"b\\\"\r\nhello\r\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED "5;a=\"b\"c\r\nhello\r\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED "5;a b\r\nhello\r\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED "5; a\r\nhello\r\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED "5;a\nhello\r\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED "5;a\rb\r\nhello\r\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED "5\r\nhello!\r\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED "5\r\nhello\n0\r\n\r\n"},
    {400, SUIMON_CHUNKED "5\r\nhello\r0\r\n\r\n"},
    {400, SUIMON_CHUNKED "0\r\nno colon\r\n\r\n"},
    {400, SUIMON_CHUNKED "0\r\nA: b\r\n c\r\n\r\n"},
    {400, SUIMON_CHUNKED "0\r\nA : b\r\n\r\n"},
    {400, SUIMON_CHUNKED "0\r\n: b\r\n\r\n"},
    {400, SUIMON_CHUNKED "0\r\nA: b\n\r\n"},
    {400, SUIMON_CHUNKED "0\r\nA: \rb\r\n\r\n"},
    {413, SUIMON_CHUNKED "fffffffffffffffff\r\n"},
    {413, SUIMON_CHUNKED "ffffffffffffffff\r\n"},
    {413, SUIMON_CHUNKED "100001\r\n"},
};

TEST(HttpCodec, BadMessagesAreRefusedHoweverTheyAreCut) {
  for (const Bad& bad : kBad) {
    SCOPED_TRACE(bad.bytes);
    const std::string answer = parse_whole(bad.bytes);
    EXPECT_TRUE(answer.starts_with("bad " + std::to_string(bad.status) + " ")) << answer;
    expect_cuts_change_nothing(bad.bytes);
  }
}

TEST(HttpCodec, IncompleteMessagesAskForMore) {
  for (const std::string_view in :
       {"", "\r", "\r\n", "G", "GET / HTTP/1.1\r\nHost: a\r\n",
        SUIMON_POST "Content-Length: 5\r\n\r\nhell", SUIMON_CHUNKED "5\r\nhello\r\n0\r\n"}) {
    EXPECT_EQ(parse_whole(in), "need_more") << in;
  }
}

constexpr HttpLimits kSmall{
    .target_bytes = 10, .header_bytes = 60, .header_fields = 3, .body_bytes = 16};

TEST(HttpCodec, WhatReachesALimitPassesAndOneByteMoreIsRefused) {
  const auto get = [](std::size_t target, const std::string& fields) {
    return "GET /" + std::string(target - 1, 'a') + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
  };
  const auto answers = [](const std::string& in, std::string_view beginning) {
    EXPECT_TRUE(parse_whole(in, kSmall).starts_with(beginning)) << parse_whole(in, kSmall);
    expect_cuts_change_nothing(in, kSmall);
  };
  answers(get(10, ""), "GET");
  answers(get(11, ""), "bad 414");
  answers(get(200, ""), "bad 414");
  answers(std::string(200, 'a'), "bad 414");
  // "Host: a\r\n", the last empty line and this line make 60 bytes.
  answers(get(1, "X: " + std::string(60 - 9 - 2 - 5, 'x') + "\r\n"), "GET");
  answers(get(1, "X: " + std::string(60 - 9 - 2 - 4, 'x') + "\r\n"), "bad 431");
  answers("GET / HTTP/1.1\r\n" + std::string(61, 'a'), "bad 431");
  answers(get(1, "A: 1\r\nB: 2\r\n"), "GET");
  answers(get(1, "A: 1\r\nB: 2\r\nC: 3\r\n"), "bad 431");
  answers(get(1, "Content-Length: 16\r\n") + std::string(16, 'x'), "GET");
  answers(get(1, "Content-Length: 17\r\n"), "bad 413");
  const std::string chunked = get(1, "Transfer-Encoding: chunked\r\n");
  answers(chunked + "8\r\n12345678\r\n8\r\n12345678\r\n0\r\n\r\n", "GET");
  answers(chunked + "8\r\n12345678\r\n9\r\n", "bad 413");
  // The chunks' framing has 60 + 16/8 bytes.
  answers(chunked + "1;" + std::string(53, 'x') + "\r\na\r\n0\r\n\r\n", "GET");
  answers(chunked + "1;" + std::string(54, 'x') + "\r\na\r\n0\r\n\r\n", "bad 413");
  answers(chunked + "0\r\nA: " + std::string(53, 'x') + "\r\n\r\n", "GET");
  answers(chunked + "0\r\nA: " + std::string(54, 'x') + "\r\n\r\n", "bad 431");
}

TEST(HttpCodec, WhoeverCrossesABoundIsToldTheBound) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\n";
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  for (const auto& [in, told] : {
           std::pair<std::string, std::string>{"GET /" + std::string(10, 'a') + " HTTP/1.1\r\n",
                                               "414 the request's target is longer than 10 bytes"},
           {head + std::string(60, 'a') + ": b\r\n", "431 the header is longer than 60 bytes"},
           {head + "A: 1\r\nB: 2\r\nC: 3\r\n\r\n", "431 the header has more than 3 fields"},
           {head + "Content-Length: 17\r\n\r\n", "413 the body is longer than 16 bytes"},
           {chunked + "11\r\n", "413 the body is longer than 16 bytes"},
           {chunked + "1;" + std::string(61, 'a'),
            "413 the chunks' framing is longer than 62 bytes"},
           {chunked + "0\r\nA: " + std::string(60, 'a'),
            "431 the trailers are longer than 60 bytes"},
       }) {
    EXPECT_EQ(parse_whole(in, kSmall), "bad " + told);
  }
}

TEST(HttpCodec, PipelinedRequestsComeOneByOne) {
  const std::string in =
      "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nokGET /2 HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"
      "GET /4 HTTP/1.1\r\nHo";
  HttpParser parser{HttpLimits{}};
  std::string_view rest = in;
  std::string seen;
  std::size_t consumed = 0;
  while (parser.parse(rest, consumed) == Status::request) {
    seen += parser.request().target;
    seen += parser.request().body;
    rest.remove_prefix(consumed);
  }
  EXPECT_EQ(seen, "/1ok/2/3x");
  EXPECT_EQ(rest, "GET /4 HTTP/1.1\r\nHo");
}

TEST(HttpCodec, BadStaysBadUntilReset) {
  HttpParser parser{HttpLimits{}};
  std::size_t consumed = 0;
  const std::string_view good = kGood[0].bytes;
  EXPECT_EQ(parser.parse("@", consumed), Status::bad);
  EXPECT_EQ(parser.parse(good, consumed), Status::bad);
  EXPECT_EQ(parser.error_status(), 400);
  parser.reset();
  EXPECT_EQ(parser.parse(good, consumed), Status::request);
  EXPECT_EQ(consumed, good.size());
}

TEST(HttpCodec, ClientThatExpects100ContinueIsToldOnceTheHeaderIsGood) {
  const std::string header = SUIMON_POST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  HttpParser parser{HttpLimits{}};
  std::size_t consumed = 0;
  EXPECT_EQ(parser.parse(std::string_view(header).substr(0, header.size() - 1), consumed),
            Status::need_more);
  EXPECT_FALSE(parser.wants_continue());
  EXPECT_EQ(parser.parse(header, consumed), Status::need_more);
  EXPECT_TRUE(parser.wants_continue());
  EXPECT_EQ(parser.parse(header + "o", consumed), Status::need_more);
  EXPECT_FALSE(parser.wants_continue()) << "the client does not wait any more";
  EXPECT_EQ(parser.parse(header + "ok", consumed), Status::request);
  EXPECT_FALSE(parser.wants_continue());

  parser.reset();
  const std::string too_large =
      SUIMON_POST "Expect: 100-continue\r\nContent-Length: 9999999\r\n\r\n";
  EXPECT_EQ(parser.parse(too_large, consumed), Status::bad);
  EXPECT_FALSE(parser.wants_continue());

  parser.reset();
  const std::string old = "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  EXPECT_EQ(parser.parse(old, consumed), Status::need_more);
  EXPECT_FALSE(parser.wants_continue());
}

TEST(HttpCodec, FieldsAreFoundInAnyCaseAndJoinedInOrder) {
  HttpParser parser{HttpLimits{}};
  std::size_t consumed = 0;
  const std::string in =
      "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1\r\nx-forwarded-for: 2, 3\r\n"
      "x^y: caret\r\nx~y: tilde\r\n\r\n";
  ASSERT_EQ(parser.parse(in, consumed), Status::request);
  const HttpRequest& request = parser.request();
  EXPECT_EQ(request.field("x-forwarded-for"), "1");
  EXPECT_EQ(request.count("x-forwarded-for"), 2u);
  EXPECT_EQ(request.field("absent"), "");
  EXPECT_EQ(request.count("absent"), 0u);
  EXPECT_EQ(request.field("x~y"), "tilde");
  std::string all;
  request.joined("x-forwarded-for", all);
  EXPECT_EQ(all, "1, 2, 3");
}

TEST(HttpResponse, SaysStatusFieldsLengthAndBody) {
  std::string out;
  const HttpField fields[] = {{"Retry-After", "1"}};
  append_response(
      {.status = 429, .fields = fields, .lines = "X-A: b\r\n", .body = "later", .close = true},
      out);
  EXPECT_EQ(out,
            "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nX-A: b\r\nConnection: close\r\n"
            "Content-Length: 5\r\n\r\nlater");
}

TEST(HttpResponse, HeadHasTheLengthAndNoBody) {
  std::string out;
  append_response({.body = "later", .date = "Sun, 06 Nov 1994 08:49:37 GMT", .head = true}, out);
  EXPECT_EQ(out,
            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 5\r\n\r\n");
}

TEST(HttpResponse, NoContentHasNeitherLengthNorBody) {
  std::string out;
  append_response({.status = 204, .body = "never"}, out);
  EXPECT_EQ(out, "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST(HttpResponse, FieldCannotEndItsLine) {
  std::string out;
  const std::string_view evil("a\r\nSet-Cookie: x\n\0\x7f\tb", 21);
  append_field("X\r\nY: z", evil, out);
  EXPECT_EQ(out, "X--Y--z: a  Set-Cookie: x   \tb\r\n");
}

TEST(HttpResponse, UnknownStatusHasAnEmptyPhrase) {
  std::string out;
  append_response({.status = 499}, out);
  EXPECT_EQ(out, "HTTP/1.1 499 \r\nContent-Length: 0\r\n\r\n");
}

TEST(HttpResponse, DateIsAnImfFixdate) {
  EXPECT_EQ(imf_fixdate(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(imf_fixdate(0), "Thu, 01 Jan 1970 00:00:00 GMT");
}

TEST(HttpRequest, TargetsOfEveryFormHaveAPathAndAQuery) {
  const auto parts = [](std::string_view target) {
    HttpRequest request;
    request.target = target;
    return std::string(request.path()) + " " + std::string(request.query());
  };
  EXPECT_EQ(parts("/a/b"), "/a/b ");
  EXPECT_EQ(parts("/a?b=c?d"), "/a b=c?d");
  EXPECT_EQ(parts("/a?b=http://x/y"), "/a b=http://x/y");
  EXPECT_EQ(parts("http://host:80/a?b"), "/a b");
  EXPECT_EQ(parts("http://host"), "/ ");
  EXPECT_EQ(parts("http://host?b"), "/ b");
  EXPECT_EQ(parts("*"), "* ");
}

}  // namespace
}  // namespace suimon::door
