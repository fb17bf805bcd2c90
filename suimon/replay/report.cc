#include "suimon/replay/report.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "suimon/base/json.h"

namespace suimon {
namespace {

// RFC 3339, in UTC.
std::string timestamp(std::int64_t seconds) {
  using namespace std::chrono;
  const sys_seconds at{std::chrono::seconds(seconds)};
  const auto date = floor<days>(at);
  const year_month_day day(date);
  const hh_mm_ss time(at - date);
  std::array<char, 48> text;
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ",
                static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                static_cast<unsigned>(day.day()), static_cast<int>(time.hours().count()),
                static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()));
  return text.data();
}

// Members of an object or array, with commas between them.
class Members {
 public:
  explicit Members(std::string& out) : out_(out) {}

  std::string& next() {
    if (!first_) out_ += ", ";
    first_ = false;
    return out_;
  }
  std::string& next(std::string_view name) {
    append_json_string(next(), name);
    return out_ += ": ";
  }
  void number(std::string_view name, std::uint64_t value) { next(name) += std::to_string(value); }
  void time(std::string_view name, const std::optional<std::int64_t>& seconds) {
    next(name) += seconds ? '"' + timestamp(*seconds) + '"' : "null";
  }

 private:
  std::string& out_;
  bool first_ = true;
};

void append_limit(std::string& out, const Report::OfLimit& limit) {
  out += '{';
  Members members(out);
  append_json_string(members.next("name"), limit.name);
  members.number("allowed", limit.allowed);
  members.number("refused", limit.refused);
  members.number("keys", limit.keys);
  members.number("keys_refused", limit.keys_refused);
  members.next("worst") += '[';
  Members worst(out);
  for (const Report::Worst& one : limit.worst) {
    worst.next() += '{';
    Members pair(out);
    append_json_string(pair.next("key"), one.key);
    pair.number("refused", one.refused);
    out += '}';
  }
  out += "]}";
}

std::string printable(std::string_view text) {
  std::string quoted;
  append_json_string(quoted, text);
  return quoted.substr(1, quoted.size() - 2);
}

std::string right(std::uint64_t number, std::size_t width) {
  const std::string text = std::to_string(number);
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

// Characters, not bytes: names of limits are ASCII, headings too.
std::string left(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

// "  3.2 %"; what is not nothing never reads as 0, and what is not all never as 100.
std::string share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (part != 0 && percent < 0.1) return "  under 0.1 %";
  if (part != whole && percent > 99.9) return "  over 99.9 %";
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "  %.1f %%", percent);
  return text.data();
}

}  // namespace

std::string to_json(const Report& report) {
  std::string out = "{";
  Members members(out);
  members.number("requests", report.requests);
  members.number("bad_lines", report.bad_lines);
  members.number("allowed", report.allowed);
  members.number("refused", report.refused);
  members.number("bad_paths", report.bad_paths);
  members.number("too_many_limits", report.too_many_limits);
  members.number("overflows", report.overflows);
  members.number("clients", report.clients);
  members.number("clients_refused", report.clients_refused);
  members.time("first", report.first);
  members.time("last", report.last);
  members.next("limits") += '[';
  Members limits(out);
  for (const Report::OfLimit& limit : report.limits) append_limit(limits.next(), limit);
  return out += "]}\n";
}

std::string to_table(const Report& report) {
  constexpr std::size_t kNumber = 12;
  std::string out;
  const auto row = [&](const char* name, std::uint64_t number, const std::string& rest) {
    out += left(name, 20) + right(number, kNumber) + rest + '\n';
  };
  row("requests", report.requests,
      report.first && report.last
          ? "  " + timestamp(*report.first) + " to " + timestamp(*report.last)
          : "");
  row("allowed", report.allowed, share(report.allowed, report.requests));
  row("refused", report.refused, share(report.refused, report.requests));
  row("clients", report.clients, "");
  row("clients refused", report.clients_refused, share(report.clients_refused, report.clients));
  row("bad lines", report.bad_lines, "");
  if (report.bad_paths > 0) {
    row("bad paths", report.bad_paths,
        "  not decided: a limit looks at the path, and these cannot be decoded (HTTP: 400)");
  }
  if (report.too_many_limits > 0) {
    row("too many limits", report.too_many_limits,
        "  not decided: more than " + std::to_string(kMostCharges) +
            " limits apply to one request");
  }
  if (report.overflows > 0) {
    row("shared buckets", report.overflows,
        "  charges that met a full store: their limits' figures are too high");
  }

  std::size_t width = 5;
  for (const Report::OfLimit& limit : report.limits) width = std::max(width, limit.name.size());
  out += '\n' + left("limit", width) + "     allowed     refused        keys keys refused\n";
  for (const Report::OfLimit& limit : report.limits) {
    out += left(limit.name, width) + right(limit.allowed, kNumber) + right(limit.refused, kNumber) +
           right(limit.keys, kNumber) + right(limit.keys_refused, kNumber + 1) + '\n';
  }
  for (const Report::OfLimit& limit : report.limits) {
    if (limit.worst.empty()) continue;
    out += "\nmost refused by " + limit.name + '\n';
    for (const Report::Worst& worst : limit.worst) {
      out += right(worst.refused, kNumber) + "  " + printable(worst.key) + '\n';
    }
  }
  return out;
}

}  // namespace suimon
