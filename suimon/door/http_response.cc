#include "suimon/door/http_response.h"

#include <array>
#include <cstddef>
#include <cstdio>

#include "suimon/base/text.h"
#include "suimon/door/http_bytes.h"

namespace suimon::door {
namespace {

// Appends `text` with every control byte replaced, so that it cannot end its line.
void append_clean(std::string_view text, char replacement, std::string& out) {
  const std::size_t begin = out.size();
  out += text;
  if (!has_control(text)) return;
  for (std::size_t i = begin; i < out.size(); ++i) {
    if (is_control(out[i])) out[i] = replacement;
  }
}

// These answers end with their header (RFC 9110 sections 8.6 and 15.4.5).
bool has_no_body(int status) { return status < 200 || status == 204 || status == 304; }

}  // namespace

std::string imf_fixdate(std::time_t unix_seconds) {
  // The names are English whatever the locale, so strftime is not asked for them.
  constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc{};
  if (::gmtime_r(&unix_seconds, &utc) == nullptr) return {};
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                                   kDays[static_cast<std::size_t>(utc.tm_wday)], utc.tm_mday,
                                   kMonths[static_cast<std::size_t>(utc.tm_mon)],
                                   utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
  return std::string(text.data(), static_cast<std::size_t>(length));
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";
  }
}

void append_field(std::string_view name, std::string_view value, std::string& out) {
  const std::size_t begin = out.size();
  append_clean(name, '-', out);
  // A name holds no colon and no space either: those would begin the value.
  for (std::size_t i = begin; i < out.size(); ++i) {
    if (out[i] == ':' || out[i] == ' ' || out[i] == '\t') out[i] = '-';
  }
  out += ": ";
  append_clean(value, ' ', out);
  out += "\r\n";
}

void append_continue(std::string& out) { out += "HTTP/1.1 100 Continue\r\n\r\n"; }

void append_response(const HttpResponse& response, std::string& out) {
  out += "HTTP/1.1 ";
  append_number(response.status, out);
  out += ' ';
  out += reason_phrase(response.status);
  out += "\r\n";
  if (!response.date.empty()) append_field("Date", response.date, out);
  for (const HttpField& field : response.fields) append_field(field.name, field.value, out);
  out += response.lines;
  if (response.close) out += "Connection: close\r\n";
  const bool empty = has_no_body(response.status);
  if (!empty) {
    out += "Content-Length: ";
    append_number(response.body.size(), out);
    out += "\r\n";
  }
  out += "\r\n";
  if (!empty && !response.head) out += response.body;
}

}  // namespace suimon::door
