#include "suimon/door/resp/throttle_call.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <system_error>

namespace suimon::door {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kMicrosecond = 1'000;

// As both peers read numbers: digits with an optional sign, plus included.
std::optional<std::int64_t> parse_quantity(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

// The time in which one token flows in: both peers divide doubles and truncate. 0 for what has no
// meaning or is shorter than a nanosecond.
std::int64_t interval_of(std::int64_t period, std::int64_t count) {
  std::int64_t period_ns = 0;
  if (count == 0 || __builtin_mul_overflow(period, kSecond, &period_ns)) return 0;
  const double interval = static_cast<double>(period_ns) / static_cast<double>(count);
  return interval < 0x1p63 && interval >= 1 ? static_cast<std::int64_t>(interval) : 0;
}

void set_charge(std::int64_t quantity, ThrottleCall& call) {
  if (quantity > 0) {
    call.op = Op::take;
    call.amount = static_cast<std::uint64_t>(quantity);
  } else if (quantity == 0) {
    call.op = Op::peek;
    call.amount = 0;
  } else {
    call.op = Op::give_back;
    call.amount = ~static_cast<std::uint64_t>(quantity) + 1;
  }
}

bool read_cell(std::span<const std::string_view> words, ThrottleCall& call, std::string& error) {
  constexpr std::size_t kShown = 64;  // of a word that is no number
  if (words.size() != 5 && words.size() != 6) {
    error =
        "Cell error: Usage: cl.throttle <key> <max_burst> <count per period> <period> "
        "[<quantity>]";
    return false;
  }
  std::array<std::int64_t, 4> numbers = {0, 0, 0, 1};
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto number = parse_quantity(words[i]);
    if (!number) {
      error = "Cell error: Couldn't parse as integer: ";
      error += words[i].substr(0, kShown);
      return false;
    }
    numbers[i - 2] = *number;
  }
  const auto [max_burst, count, period, quantity] = numbers;
  const std::int64_t interval = interval_of(period, count);
  if (interval == 0) {
    const bool no_rate = count == 0 || period == 0 || (count > 0 && period > 0);
    const bool too_long = period > std::numeric_limits<std::int64_t>::max() / kSecond;
    error = no_rate && !too_long ? "Cell error: Zero rates are not supported"
            : too_long ? "Cell error: the period is too long; write at most 9223372036 seconds"
                       : "Cell error: a rate below zero is not supported; write a count and a "
                         "period above 0";
    return false;
  }
  if (max_burst < 0 || max_burst == std::numeric_limits<std::int64_t>::max()) {
    error = "Cell error: max_burst must be from 0 to 9223372036854775806";
    return false;
  }
  call.set = {static_cast<std::uint64_t>(max_burst) + 1, Duration(interval)};
  set_charge(quantity, call);
  return true;
}

bool read_crab(std::span<const std::string_view> words, ThrottleCall& call, std::string& error) {
  constexpr std::array<std::string_view, 4> kNames = {"max_burst", "count_per_period", "period",
                                                      "quantity"};
  if (words.size() != 5 && words.size() != 6) {
    error = "ERR wrong number of arguments for 'throttle' command";
    return false;
  }
  std::array<std::int64_t, 4> numbers = {0, 0, 0, 1};
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto number = parse_quantity(words[i]);
    if (!number) {
      error = "ERR invalid ";
      error += kNames[i - 2];
      return false;
    }
    numbers[i - 2] = *number;
  }
  const auto [max_burst, count, period, quantity] = numbers;
  if (quantity < 0) {
    error = "ERR negative quantity: " + std::to_string(quantity);
    return false;
  }
  const std::int64_t interval = count > 0 && period > 0 ? interval_of(period, count) : 0;
  if (max_burst <= 0 || interval == 0) {
    error = "ERR invalid rate limit parameters";
    return false;
  }
  call.set = {static_cast<std::uint64_t>(max_burst), Duration(interval)};
  set_charge(quantity, call);
  return true;
}

// What redis-cell makes seconds of: a started one counts once a millisecond of it has passed.
std::int64_t cell_seconds(std::int64_t ns) {
  return ns / kSecond + (ns % kSecond >= kMillisecond ? 1 : 0);
}

std::int64_t ceil_seconds(std::int64_t ns) { return ns / kSecond + (ns % kSecond > 0 ? 1 : 0); }

}  // namespace

bool read_throttle(ThrottleDialect dialect, std::span<const std::string_view> words,
                   ThrottleCall& call, std::string& error) {
  call.dialect = dialect;
  const bool read = dialect == ThrottleDialect::cl_throttle ? read_cell(words, call, error)
                                                            : read_crab(words, call, error);
  if (read) call.key = words[1];
  return read;
}

std::array<std::int64_t, 5> throttle_reply(ThrottleDialect dialect, const ThrottleSet& set,
                                           const Decision& decision) {
  // A set's shape counts in whole nanoseconds, so these are exact, and the products fit: the whole
  // bucket is below 2^62 ns.
  const std::int64_t interval = set.interval.count();
  const auto limit = static_cast<std::int64_t>(set.capacity);
  const std::int64_t owed = decision.reset_after().count();
  const std::int64_t free = std::max<std::int64_t>(0, limit * interval - owed);
  const auto wait = decision.retry_after();
  if (dialect == ThrottleDialect::cl_throttle) {
    // Divided in whole microseconds, as there; below one there is nothing to divide by.
    const std::int64_t remaining = interval >= kMicrosecond
                                       ? (free / kMicrosecond) / (interval / kMicrosecond)
                                       : free / interval;
    return {decision.allowed() ? 0 : 1, limit, remaining, wait ? cell_seconds(wait->count()) : -1,
            cell_seconds(owed)};
  }
  // throttlecrab's reset_after counts to the instant at which it forgets the key.
  const std::int64_t forgotten = owed + (limit - 2) * interval;
  const std::int64_t retry_after = decision.allowed() ? 0 : wait ? ceil_seconds(wait->count()) : -1;
  return {decision.allowed() ? 1 : 0, limit, free / interval,
          std::max<std::int64_t>(0, forgotten) / kSecond, retry_after};
}

}  // namespace suimon::door
