#include "suimon/observe/event_line.h"

#include <fmt/format.h>

#include <chrono>
#include <iterator>

#include "suimon/base/json.h"
#include "suimon/core/key_text.h"

namespace suimon {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"limited", "never", "shadow_limited"};

template <class... Parts>
void put(std::string& out, fmt::format_string<Parts...> format, Parts&&... parts) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Parts>(parts)...);
}

void put_text(std::string& out, std::string_view member, std::string_view text) {
  put(out, ",\"{}\":", member);
  append_json_string(out, text);
}

// Whole milliseconds, rounded up: who waits as told is not refused again.
std::int64_t ceil_milliseconds(Duration wait) {
  return wait.count() / 1'000'000 + (wait.count() % 1'000'000 > 0 ? 1 : 0);
}

}  // namespace

void append_time(std::string& out, std::int64_t unix_ns) {
  using namespace std::chrono;
  const auto at = floor<milliseconds>(sys_time<nanoseconds>(nanoseconds(unix_ns)));
  const auto day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss time(at - day);
  put(out, "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
      time.minutes().count(), time.seconds().count(), time.subseconds().count());
}

void append_event(std::string& out, const Event& event, std::span<const std::string_view> doors,
                  Identify identify, Duration wall_minus_boot) {
  out += "{\"time\":\"";
  append_time(out, (event.at + wall_minus_boot).ns);
  out += '"';
  put_text(out, "door", doors[event.door]);
  put_text(out, "domain", event.domain.view());
  put_text(out, "limit", event.limit.view());
  put_text(out, "verdict", kKinds[static_cast<std::size_t>(event.kind)]);
  if (event.charged) {
    put(out, ",\"key\":\"{}\",\"remaining\":{},\"capacity\":{},\"cost\":{}", key_text(event.key),
        event.remaining, event.capacity, event.cost);
  } else {
    put(out, ",\"key\":null,\"remaining\":null,\"capacity\":{},\"cost\":null", event.capacity);
  }
  if (event.charged && event.retry_after) {
    put(out, ",\"retry_after_ms\":{}", ceil_milliseconds(*event.retry_after));
  } else {
    out += ",\"retry_after_ms\":null";
  }
  if (!event.missing.view().empty()) put_text(out, "missing", event.missing.view());
  if (identify != Identify::none) {
    out += ",\"client\":{";
    for (std::size_t i = 0; i < event.shown; ++i) {
      if (i > 0) out += ',';
      append_json_string(out, event.client[i].name.view());
      out += ':';
      append_json_string(out, event.client[i].value.view());
    }
    out += '}';
  }
  out += "}\n";
}

void append_dropped(std::string& out, std::uint64_t dropped, std::int64_t unix_ns) {
  out += "{\"time\":\"";
  append_time(out, unix_ns);
  put(out, "\",\"dropped\":{}}}\n", dropped);
}

}  // namespace suimon
