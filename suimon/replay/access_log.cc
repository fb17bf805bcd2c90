#include "suimon/replay/access_log.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "suimon/base/address.h"
#include "suimon/base/json.h"
#include "suimon/base/text.h"

namespace suimon {
namespace {

constexpr auto kNone = std::string_view::npos;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <class Number>
bool read_number(std::string_view text, Number& out) {
  const auto number = parse_number<Number>(text);
  out = number.value_or(out);
  return number.has_value();
}

// Position of the quote that ends a string whose content starts at `from`; a backslash protects
// the next byte.
std::size_t closing_quote(std::string_view line, std::size_t from) {
  for (;;) {
    const std::size_t at = line.find_first_of("\"\\", from);
    if (at == kNone || line[at] == '"') return at;
    from = at + 2;
    if (from > line.size()) return kNone;
  }
}

// The parser: `at` is where the next field begins. A field that cannot be read sets the fault.
class Parser {
 public:
  explicit Parser(std::string_view line) : line_(line) {}

  tl::expected<LogLine, LogFault> run() {
    if (!clients() || !who() || !time() || !request() || !outcome() || !extras()) {
      return tl::unexpected(fault_);
    }
    return out_;
  }

 private:
  bool fail(std::size_t at, const char* expected) {
    fault_ = {at + 1, expected};
    return false;
  }

  // The token up to the next space, which is passed over, too.
  std::string_view token() {
    const std::size_t end = std::min(line_.find(' ', at_), line_.size());
    const std::string_view text = line_.substr(at_, end - at_);
    at_ = std::min(end + 1, line_.size());
    return text;
  }

  bool clients() {
    if (line_.empty()) return fail(0, "a host; the line is empty");
    if (line_[0] == '"') {
      const std::size_t end = closing_quote(line_, 1);
      if (end == kNone) return fail(0, "a closing quote after the list of clients");
      out_.clients = line_.substr(1, end - 1);
      quoted_ = true;
      at_ = end + 1;
      if (at_ == line_.size() || line_[at_] != ' ') return fail(at_, "a space after the clients");
      ++at_;
    } else {
      // A list goes on as long as a comma stands on either side of the space.
      std::size_t end = line_.find(' ');
      while (end != kNone && end + 1 < line_.size() && end > 0 &&
             (line_[end - 1] == ',' || line_[end + 1] == ',')) {
        end = line_.find(' ', end + 1);
      }
      if (end == kNone) return fail(line_.size(), "a space and more fields after the host");
      out_.clients = line_.substr(0, end);
      at_ = end + 1;
    }
    return true;
  }

  // [peer] ident user, up to the "[" of the time. A user may hold spaces and brackets but no
  // quote (servers escape it), so the time is the last bracket before the request.
  bool who() {
    const std::size_t quote = line_.find('"', at_);
    const std::string_view before = line_.substr(0, quote);
    const std::size_t bracket = before.rfind(" [");
    if (bracket == kNone || bracket < at_) {
      return fail(at_, "ident, user and a time such as [01/Jul/1995:00:00:01 -0400]");
    }
    if (std::count(before.begin() + static_cast<std::ptrdiff_t>(at_),
                   before.begin() + static_cast<std::ptrdiff_t>(bracket), ' ') >= 2) {
      leading_host();
    }
    if (out_.clients.empty() && out_.peer.empty()) return fail(0, "a host");
    if (token().empty() || at_ >= bracket) return fail(at_, "ident and user before the time");
    out_.user = line_.substr(at_, bracket - at_);
    at_ = bracket + 2;
    return true;
  }

  // One field more than ident and user: after a quoted list the peer, after "name:port" the host.
  void leading_host() {
    if (quoted_) {
      out_.peer = token();
      return;
    }
    // A user with a space looks the same, but then what follows the host is no address.
    const std::size_t start = at_;
    const std::string_view host = token();
    const std::size_t colon = out_.clients.rfind(':');
    if (colon != kNone && parse_number<std::uint16_t>(out_.clients.substr(colon + 1)) &&
        !parse_address(out_.clients) && parse_address(host)) {
      out_.clients = host;
    } else {
      at_ = start;
    }
  }

  bool time() {
    // 0 stands for a digit, x for any byte, + for a sign.
    constexpr std::string_view kForm = "00/xxx/0000:00:00:00 +0000]";
    const std::string_view text = line_.substr(at_, kForm.size());
    for (std::size_t i = 0; i < kForm.size(); ++i) {
      const char c = i < text.size() ? text[i] : '\0';
      const bool good = kForm[i] == '0'   ? is_digit(c)
                        : kForm[i] == 'x' ? i < text.size()
                        : kForm[i] == '+' ? c == '+' || c == '-'
                                          : c == kForm[i];
      if (!good) return fail(at_ + i, "a time such as 01/Jul/1995:00:00:01 -0400]");
    }
    const auto two = [&](std::size_t i) { return (text[i] - '0') * 10 + (text[i + 1] - '0'); };

    using namespace std::chrono;
    constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const std::size_t month_at = kMonths.find(text.substr(3, 3));
    if (month_at == kNone || month_at % 3 != 0) return fail(at_ + 3, "a month, Jan to Dec");
    const int year_number = two(7) * 100 + two(9);
    if (year_number < 1970 || year_number > 2261) return fail(at_ + 7, "a year, 1970 to 2261");
    const year_month_day date(year(year_number), month(static_cast<unsigned>(month_at / 3 + 1)),
                              day(static_cast<unsigned>(two(0))));
    if (!date.ok()) return fail(at_, "a day that this month has");
    if (two(12) > 23) return fail(at_ + 12, "an hour, 00 to 23");
    if (two(15) > 59) return fail(at_ + 15, "a minute, 00 to 59");
    // A leap second counts as the second after it, as in POSIX.
    if (two(18) > 60) return fail(at_ + 18, "a second, 00 to 60");
    if (two(22) > 15 || two(24) > 59) return fail(at_ + 21, "an offset from UTC such as -0400");

    const auto local = sys_days(date) + hours(two(12)) + minutes(two(15)) + seconds(two(18));
    const auto offset = hours(two(22)) + minutes(two(24));
    const auto utc = text[21] == '-' ? local + offset : local - offset;
    out_.seconds = utc.time_since_epoch().count();
    at_ += kForm.size();
    return true;
  }

  bool request() {
    if (line_.substr(at_, 2) != " \"") return fail(at_, "a space and the quoted request");
    const std::size_t end = closing_quote(line_, at_ + 2);
    if (end == kNone) return fail(at_ + 1, "a closing quote after the request");
    const std::string_view text = line_.substr(at_ + 2, end - at_ - 2);
    at_ = end + 1;
    const std::size_t first = text.find(' ');
    if (first == kNone) return true;  // "" and "-", or bytes that were no HTTP
    out_.method = text.substr(0, first);
    out_.target = text.substr(first + 1);
    const std::size_t last = out_.target.rfind(' ');
    const std::string_view tail = out_.target.substr(last == kNone ? 0 : last + 1);
    if (last != kNone && tail.starts_with("HTTP/")) {
      out_.protocol = tail;
      out_.target = out_.target.substr(0, last);
    }
    return true;
  }

  bool outcome() {
    if (at_ == line_.size() || line_[at_] != ' ') return fail(at_, "a space and the status");
    std::size_t start = ++at_;
    const std::string_view status = token();
    if (status != "-" && (status.size() != 3 || !read_number(status, out_.status))) {
      return fail(start, "a status of three digits, or -");
    }
    start = at_;
    const std::string_view bytes = token();
    if (bytes != "-" && !read_number(bytes, out_.bytes)) {
      return fail(start, "a number of bytes, or -");
    }
    return true;
  }

  // The referer and the user agent, where there are any. What else follows is the server's own
  // and not looked at.
  bool extras() {
    for (std::string_view* field : {&out_.referer, &out_.user_agent}) {
      if (at_ == line_.size() || line_[at_] != '"') return true;
      const std::size_t end = closing_quote(line_, at_ + 1);
      if (end == kNone) return fail(at_, "a closing quote; the line was cut short");
      *field = line_.substr(at_ + 1, end - at_ - 1);
      at_ = std::min(end + 2, line_.size());
    }
    return true;
  }

  std::string_view line_;
  std::size_t at_ = 0;
  bool quoted_ = false;
  LogLine out_;
  LogFault fault_{};
};

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

tl::expected<LogLine, LogFault> parse_log_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > kLongestLogLine) {
    return tl::unexpected(
        LogFault{kLongestLogLine + 1, "the end of the line; 65535 bytes are read"});
  }
  return Parser(line).run();
}

std::string describe(const LogFault& fault, std::string_view line) {
  constexpr std::size_t kShown = 32;
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::string text = "column " + std::to_string(fault.column) + ": expected " + fault.expected;
  const std::size_t at = fault.column - 1;
  if (at >= line.size()) return text + ", read the end of the line";
  text += ", read ";
  append_json_string(text, line.substr(at, kShown));
  if (line.size() - at > kShown) text += "...";
  return text;
}

std::string_view unescape(std::string_view field, std::string& scratch) {
  if (field.find('\\') == kNone) return field;
  scratch.clear();
  while (!field.empty()) {
    if (field.front() != '\\' || field.size() == 1) {
      const std::size_t plain = std::max<std::size_t>(1, std::min(field.find('\\'), field.size()));
      scratch.append(field.substr(0, plain));
      field.remove_prefix(plain);
      continue;
    }
    if (field[1] == 'x' && field.size() >= 4 && hex_value(field[2]) >= 0 &&
        hex_value(field[3]) >= 0) {
      scratch += static_cast<char>(hex_value(field[2]) * 16 + hex_value(field[3]));
      field.remove_prefix(4);
      continue;
    }
    constexpr std::string_view kLetters = "bnrtv\"\\";
    constexpr std::string_view kMeanings = "\b\n\r\t\v\"\\";
    const std::size_t known = kLetters.find(field[1]);
    if (known == kNone) {
      scratch.append(field.substr(0, 2));  // no server's escape: it stands for itself
    } else {
      scratch += kMeanings[known];
    }
    field.remove_prefix(2);
  }
  return scratch;
}

}  // namespace suimon
