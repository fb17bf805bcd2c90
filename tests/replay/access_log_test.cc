#include "suimon/replay/access_log.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>
#include <vector>

namespace suimon {
namespace {

constexpr std::string_view kCombined =
    "203.0.113.9 - alice [10/Oct/2000:13:55:36 -0700] \"GET /apache_pb.gif?x=1 HTTP/1.0\" 200 2326 "
    "\"http://www.example.com/start.html\" \"Mozilla/4.08 [en] (Win98; I ;Nav)\"";

// The fields point into a copy that is kept as long as the program runs.
LogLine parsed(std::string_view text) {
  static std::deque<std::string> kept;
  const std::string& line = kept.emplace_back(text);
  const auto result = parse_log_line(line);
  if (!result) {
    ADD_FAILURE() << line << "\n" << describe(result.error(), line);
    return {};
  }
  return *result;
}

std::string fault(std::string_view line) {
  const auto result = parse_log_line(line);
  return result ? "read" : describe(result.error(), line);
}

// A Common Log Format line of this time.
std::string at(const std::string& time) { return "h - - [" + time + "] \"GET / HTTP/1.0\" 200 1"; }

TEST(AccessLog, CombinedLineGivesEveryField) {
  const LogLine line = parsed(kCombined);
  EXPECT_EQ(line.clients, "203.0.113.9");
  EXPECT_EQ(line.peer, "");
  EXPECT_EQ(line.user, "alice");
  EXPECT_EQ(line.seconds, 971211336);  // 2000-10-10T20:55:36Z
  EXPECT_EQ(line.method, "GET");
  EXPECT_EQ(line.target, "/apache_pb.gif?x=1");
  EXPECT_EQ(line.protocol, "HTTP/1.0");
  EXPECT_EQ(line.status, 200U);
  EXPECT_EQ(line.bytes, 2326U);
  EXPECT_EQ(line.referer, "http://www.example.com/start.html");
  EXPECT_EQ(line.user_agent, "Mozilla/4.08 [en] (Win98; I ;Nav)");
}

TEST(AccessLog, CommonLineHasNoRefererAndNoUserAgent) {
  const LogLine line = parsed("::1 - - [26/Dec/2016:16:16:29 +0200] \"GET / HTTP/1.1\" 404 -\r");
  EXPECT_EQ(line.clients, "::1");
  EXPECT_EQ(line.user, "-");
  EXPECT_EQ(line.bytes, 0U);
  EXPECT_EQ(line.referer, "");
  EXPECT_EQ(line.user_agent, "");
  EXPECT_EQ(line.seconds, 1482761789);
}

TEST(AccessLog, QuotedListIsFollowedByThePeer) {
  const LogLine line = parsed(
      "\"10.5.102.222, 198.51.100.1\" 10.2.1.185 - bob [22/Jan/2016:13:18:29 +0000] "
      "\"GET / HTTP/1.1\" 200 1");
  EXPECT_EQ(line.clients, "10.5.102.222, 198.51.100.1");
  EXPECT_EQ(line.peer, "10.2.1.185");
  EXPECT_EQ(line.user, "bob");
}

TEST(AccessLog, QuotedListMayComeWithoutAPeer) {
  const LogLine line =
      parsed("\"192.0.2.1, 10.0.0.1\" - - [22/Jan/2016:13:18:29 +0000] \"GET / HTTP/1.1\" 200 1");
  EXPECT_EQ(line.clients, "192.0.2.1, 10.0.0.1");
  EXPECT_EQ(line.peer, "");
  EXPECT_EQ(line.user, "-");
}

TEST(AccessLog, BareListGoesOnAcrossItsCommas) {
  const std::string rest = " - carol [22/Jan/2016:13:18:29 +0000] \"GET / HTTP/1.1\" 200 1";
  for (const std::string list : {"10.0.0.2, 10.0.0.1, 127.0.0.1", "10.0.0.2,10.0.0.1",
                                 "10.0.0.2 , 10.0.0.1", "unknown, 2001:db8::1"}) {
    const LogLine line = parsed(list + rest);
    EXPECT_EQ(line.clients, list);
    EXPECT_EQ(line.user, "carol");
  }
}

TEST(AccessLog, VirtualHostInFrontIsNotTheClient) {
  const LogLine line = parsed(
      "www.example.com:443 192.0.2.7 - - [22/Jan/2016:13:18:29 +0000] "
      "\"GET / HTTP/1.1\" 200 1 \"-\" \"-\"");
  EXPECT_EQ(line.clients, "192.0.2.7");
  EXPECT_EQ(line.user, "-");
}

TEST(AccessLog, UserMayHoldSpacesAndBrackets) {
  const LogLine line =
      parsed("192.0.2.7 - John [x] Doe [22/Jan/2016:13:18:29 +0000] \"GET / HTTP/1.1\" 200 1");
  EXPECT_EQ(line.clients, "192.0.2.7");
  EXPECT_EQ(line.user, "John [x] Doe");
}

TEST(AccessLog, RequestLinesThatWereNoRequestHaveNoTarget) {
  for (const std::string request : {"", "-", "\\x16\\x03\\x01", "quit"}) {
    const LogLine line = parsed("h - - [12/Apr/2018:09:48:40 +0200] \"" + request + "\" 400 0");
    EXPECT_EQ(line.method, "") << request;
    EXPECT_EQ(line.target, "") << request;
    EXPECT_EQ(line.protocol, "") << request;
    EXPECT_EQ(line.status, 400U);
  }
}

TEST(AccessLog, TargetMayHoldSpacesAndEscapedQuotes) {
  const LogLine line =
      parsed(R"(h - - [12/Apr/2018:09:48:40 +0200] "GET /a b\"c\\ HTTP/1.1" 200 1 "r\"" "\\")");
  EXPECT_EQ(line.target, R"(/a b\"c\\)");
  EXPECT_EQ(line.protocol, "HTTP/1.1");
  EXPECT_EQ(line.referer, R"(r\")");
  EXPECT_EQ(line.user_agent, R"(\\)");
  EXPECT_EQ(parsed("h - - [12/Apr/2018:09:48:40 +0200] \"GET /old\" 200 1").target, "/old");
  EXPECT_EQ(parsed("h - - [12/Apr/2018:09:48:40 +0200] \"GET /a b\" 200 1").target, "/a b");
}

TEST(AccessLog, EscapesOfServersAreUndone) {
  std::string scratch;
  EXPECT_EQ(unescape("plain", scratch), "plain");
  EXPECT_EQ(unescape(R"(a\"b\\c\x22\xE6\n\t)", scratch), "a\"b\\c\"\xE6\n\t");
  EXPECT_EQ(unescape(R"(\q\xZZ\x1)", scratch), R"(\q\xZZ\x1)");
  EXPECT_EQ(unescape("end\\", scratch), "end\\");
  EXPECT_EQ(unescape("\\", scratch), "\\");
}

TEST(AccessLog, OffsetsFromUtcAreTakenAway) {
  EXPECT_EQ(parsed(at("01/Jan/1970:00:00:00 +0000")).seconds, 0);
  EXPECT_EQ(parsed(at("01/Jan/1970:05:45:00 +0545")).seconds, 0);
  EXPECT_EQ(parsed(at("31/Dec/1970:16:00:00 -0800")).seconds, 365 * 86'400);
  EXPECT_EQ(parsed(at("01/Jan/1970:00:00:00 +1400")).seconds, -14 * 3600);
  EXPECT_EQ(parsed(at("01/Jul/1995:00:00:01 -0400")).seconds, 804571201);
}

// Walks every day of the calendar by its own rules and compares.
TEST(AccessLog, EveryDayOfThreeCenturiesHasItsNumber) {
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::int64_t days = 0;
  for (int year = 1970; year <= 2261; ++year) {
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    for (int month = 0; month < 12; ++month) {
      const int length = month == 1 ? 28 + (leap ? 1 : 0)
                         : month == 3 || month == 5 || month == 8 || month == 10 ? 30
                                                                                 : 31;
      for (int day = 1; day <= 31; ++day) {
        char text[64];
        std::snprintf(text, sizeof text, "%02d/%s/%04d:23:59:59 +0000", day, kMonths[month], year);
        if (day > length) {
          ASSERT_NE(fault(at(text)).find("a day that this month has"), std::string::npos) << text;
        } else {
          ASSERT_EQ(parsed(at(text)).seconds, days++ * 86'400 + 86'399) << text;
        }
      }
    }
  }
}

TEST(AccessLog, LeapSecondCountsAsTheSecondAfter) {
  EXPECT_EQ(parsed(at("31/Dec/2016:23:59:60 +0000")).seconds,
            parsed(at("01/Jan/2017:00:00:00 +0000")).seconds);
}

TEST(AccessLog, ImpossibleTimesAreRefusedWithTheirColumn) {
  EXPECT_EQ(fault(at("32/Jul/1995:00:00:01 -0400")).substr(0, 43),
            "column 8: expected a day that this month ha");
  EXPECT_TRUE(fault(at("00/Jul/1995:00:00:01 -0400")).starts_with("column 8: expected a day"));
  EXPECT_TRUE(fault(at("01/jul/1995:00:00:01 -0400")).starts_with("column 11: expected a month"));
  EXPECT_TRUE(fault(at("01/anF/1995:00:00:01 -0400")).starts_with("column 11: expected a month"));
  EXPECT_TRUE(fault(at("01/Jul/1969:00:00:01 -0400")).starts_with("column 15: expected a year"));
  EXPECT_TRUE(fault(at("01/Jul/2262:00:00:01 -0400")).starts_with("column 15: expected a year"));
  EXPECT_TRUE(fault(at("01/Jul/1995:24:00:01 -0400")).starts_with("column 20: expected an hour"));
  EXPECT_TRUE(fault(at("01/Jul/1995:00:60:01 -0400")).starts_with("column 23: expected a minute"));
  EXPECT_TRUE(fault(at("01/Jul/1995:00:00:61 -0400")).starts_with("column 26: expected a second"));
  EXPECT_TRUE(fault(at("01/Jul/1995:00:00:01 -1600")).starts_with("column 29: expected an offset"));
  EXPECT_TRUE(fault(at("01/Jul/1995:00:00:01 +0060")).starts_with("column 29: expected an offset"));
  EXPECT_TRUE(fault(at("01/Jul/1995:00:00:01")).starts_with("column 28: expected a time such as"));
  EXPECT_TRUE(fault(at("1/Jul/1995:00:00:01 -0400")).starts_with("column 9: expected a time such"));
}

TEST(AccessLog, BrokenLinesSayWhereAndWhatWasExpected) {
  EXPECT_EQ(fault(""), "column 1: expected a host; the line is empty, read the end of the line");
  EXPECT_EQ(fault("h"),
            "column 2: expected a space and more fields after the host, read the end of the line");
  EXPECT_EQ(fault("\"a, b"),
            "column 1: expected a closing quote after the list of clients, "
            "read \"\\\"a, b\"");
  EXPECT_EQ(fault("h - - 01/Jul/1995"),
            "column 3: expected ident, user and a time such as "
            "[01/Jul/1995:00:00:01 -0400], read \"- - 01/Jul/1995\"");
  const std::string start = "h - - [01/Jul/1995:00:00:01 -0400]";
  EXPECT_EQ(fault(start),
            "column 35: expected a space and the quoted request, "
            "read the end of the line");
  EXPECT_EQ(fault(start + " \"GET /"),
            "column 36: expected a closing quote after the request, read \"\\\"GET /\"");
  EXPECT_EQ(fault(start + " \"GET /\\\""),
            "column 36: expected a closing quote after the request, read \"\\\"GET /\\\\\\\"\"");
  EXPECT_EQ(fault(start + " \"\""),
            "column 38: expected a space and the status, "
            "read the end of the line");
  EXPECT_EQ(fault(start + " \"\" 20 1"),
            "column 39: expected a status of three digits, or -, read \"20 1\"");
  EXPECT_EQ(fault(start + " \"\" 200"),
            "column 42: expected a number of bytes, or -, read the end of the line");
  EXPECT_EQ(fault(start + " \"\" 200 -5"),
            "column 43: expected a number of bytes, or -, "
            "read \"-5\"");
  EXPECT_EQ(fault(start + " \"\" 200 99999999999999999999"),
            "column 43: expected a number of bytes, or -, read \"99999999999999999999\"");
  EXPECT_EQ(fault(start + " \"\" 200 1 \"http://cut"),
            "column 45: expected a closing quote; the line was cut short, read \"\\\"http://cut\"");
  EXPECT_EQ(fault(" - - [01/Jul/1995:00:00:01 -0400] \"\" 200 1").substr(0, 25),
            "column 1: expected a host");
}

TEST(AccessLog, WhatABadLineHoldsIsShownShortAndEscaped) {
  const std::string line = "\x1b[31m" + std::string(100, 'x') + std::string(1, '\0');
  const std::string told = fault("h - - [" + line);
  EXPECT_NE(told.find("\\u001b[31mxxx"), std::string::npos) << told;
  EXPECT_TRUE(told.ends_with("...")) << told;
  EXPECT_EQ(told.find('\x1b'), std::string::npos);
}

TEST(AccessLog, LineLengthIsBounded) {
  std::string line(kCombined);
  line += ' ' + std::string(kLongestLogLine - line.size() - 1, 'x');
  ASSERT_EQ(line.size(), kLongestLogLine);
  EXPECT_EQ(parsed(line).status, 200U);
  EXPECT_EQ(parsed(line + '\r').status, 200U);
  EXPECT_EQ(fault(line + 'x'),
            "column 65536: expected the end of the line; 65535 bytes are read, "
            "read \"x\"");
  EXPECT_TRUE(fault(std::string(5'000'000, '"')).starts_with("column 65536: "));
}

TEST(AccessLog, BinaryBytesAreData) {
  const std::string zero(1, '\0');
  const LogLine line = parsed("h" + zero + " - \xFF [01/Jul/1995:00:00:01 -0400] \"G" + zero +
                              " /\x80\xFE HTTP/1.1\" 200 1");
  EXPECT_EQ(line.clients, "h" + zero);
  EXPECT_EQ(line.user, "\xFF");
  EXPECT_EQ(line.target, "/\x80\xFE");
  EXPECT_NE(fault(std::string(80, '\0')), "read");  // what copytruncate leaves at a log's head
}

// A field must lie inside the line that it was read from.
bool inside(std::string_view field, std::string_view line) {
  return field.empty() ||
         (field.data() >= line.data() && field.data() + field.size() <= line.data() + line.size());
}

TEST(AccessLog, MutatedLinesAreReadOrRefusedAndNeverLeaveTheLine) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<std::string> seeds = {
      std::string(kCombined), at("01/Jul/1995:00:00:01 -0400"),
      "\"10.5.102.222, 198.51.100.1\" 10.2.1.185 - - [22/Jan/2016:13:18:29 +0000] \"\" 200 1",
      "a, b, c - - [22/Jan/2016:13:18:29 +0000] \"GET /\\\" HTTP/1.1\" 200 1 \"\\\\\" \"\"",
      "v:80 192.0.2.7 - - [22/Jan/2016:13:18:29 +0000] \"GET / HTTP/1.1\" 200 1"};
  constexpr std::string_view kEvil(
      "\"\\ [],:-/+\r\0\xFF"
      "0"
      "9",
      15);
  std::size_t read = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string line = seeds[random() % seeds.size()];
    for (auto changes = 1 + random() % 4; changes > 0 && !line.empty(); --changes) {
      const std::size_t place = random() % line.size();
      const char byte =
          random() % 2 == 0 ? kEvil[random() % kEvil.size()] : static_cast<char>(random());
      switch (random() % 5) {
        case 0:
          line[place] = byte;
          break;
        case 1:
          line.insert(place, 1, byte);
          break;
        case 2:
          line.erase(place, 1 + random() % 3);
          break;
        case 3:
          line.resize(place);
          break;
        default:
          line.insert(place, line.substr(random() % line.size(), random() % 20));
      }
    }
    const std::string exact(line);  // no spare bytes behind it for an overrun to hide in
    const auto result = parse_log_line(exact);
    if (!result) {
      ++refused;
      ASSERT_GE(result.error().column, 1U);
      ASSERT_LE(result.error().column, exact.size() + 1);
      ASSERT_FALSE(describe(result.error(), exact).empty());
      continue;
    }
    ++read;
    for (const std::string_view field :
         {result->clients, result->peer, result->user, result->method, result->target,
          result->protocol, result->referer, result->user_agent}) {
      ASSERT_TRUE(inside(field, exact)) << exact;
    }
    ASSERT_FALSE(result->clients.empty() && result->peer.empty()) << exact;
  }
  EXPECT_GT(read, 10'000U);
  EXPECT_GT(refused, 10'000U);
}

}  // namespace
}  // namespace suimon
