// One line of an access log, taken apart.
//
// Read are the Common Log Format, the combined format, and their usual relatives:
//     host ident user [day/Mon/year:hh:mm:ss +hhmm] "METHOD target PROTOCOL" status bytes
//     ... "referer" "user agent" and anything after them
//     a list in place of the host, as nginx and ingresses write X-Forwarded-For: bare
//     (client, proxy, proxy) or in quotes and followed by the address of the peer
//     a virtual host in front (name:port host ident user ...), Apache's vhost_combined
//
// Thread rule: pure functions. Nothing is allocated; all views point into the line. Any bytes may
// come in. Complexity: O(length).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace suimon {

// The longest line that is read, without its end. It bounds what one line can cost, and offsets
// into a line fit 16 bits.
inline constexpr std::size_t kLongestLogLine = 65'535;

struct LogLine {
  std::string_view clients;     // field 1 without its quotes: one host, or a list
  std::string_view peer;        // the host after a quoted list; else empty
  std::string_view user;        // "-" when there is none
  std::string_view method;      // empty when the request line was none
  std::string_view target;      // so is this; it may hold spaces
  std::string_view protocol;    // empty for HTTP/0.9
  unsigned status = 0;          // 0 for "-"
  std::uint64_t bytes = 0;      // 0 for "-"
  std::string_view referer;     // empty where the line has none
  std::string_view user_agent;  // so is this
  std::int64_t seconds = 0;     // since 1970-01-01 00:00:00 UTC
};

// Why a line cannot be read.
struct LogFault {
  std::size_t column;  // from 1, in bytes
  const char* expected;
};

// `line` comes without its line feed; a carriage return at its end is dropped. Quoted fields stand
// as they are written: unescape() undoes that.
tl::expected<LogLine, LogFault> parse_log_line(std::string_view line);

// "column 23: expected a day such as 01/Jul/1995, read "32/Jul/1995:00:00:01 -0400]"". What was
// read is cut short, and its control characters are escaped.
std::string describe(const LogFault& fault, std::string_view line);

// A quoted field as it was before Apache (\" \\ \n \t \xhh and so on) or nginx (\x22) wrote it.
// Without a backslash that is the field itself, else it is put into `scratch` (replaced).
std::string_view unescape(std::string_view field, std::string& scratch);

}  // namespace suimon
