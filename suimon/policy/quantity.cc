#include "suimon/policy/quantity.h"

#include <limits>
#include <numeric>
#include <optional>

#include "suimon/base/text.h"
#include "suimon/policy/mistakes.h"
#include "suimon/policy/quantity_terms.h"

namespace suimon {
namespace {

using namespace quantity;

constexpr std::uint64_t kMostCount = std::uint64_t{1} << 60;

// A count inside `whole`, which the sentence quotes.
Result<std::uint64_t> count_in(std::string_view text, std::string_view whole) {
  const std::string said = shown(whole);
  text = trimmed(text);
  if (text.starts_with('-')) {
    return failure(said + " is negative; write a whole number such as 10");
  }
  const Number number = split_number(text);
  if (number.digits.empty()) {
    return failure(said + " does not begin with a number; write one, such as 10");
  }
  const auto suffix = suffix_value(number.rest);
  if (!suffix) return failure(said + ": " + why_no_suffix(number.rest));
  if (number.decimals) {
    const auto fraction = fraction_of(number);
    if (fraction && *suffix % fraction->bottom == 0) {
      if (const auto exact = product(fraction->top, *suffix / fraction->bottom)) {
        return failure(said + " has a point; write the whole number, `" + std::to_string(*exact) +
                       "`");
      }
    }
    return failure(said + " is not whole; write a whole number such as 10");
  }
  const auto digits = value_of(number.digits);
  const auto value = digits ? product(*digits, *suffix) : std::nullopt;
  if (!value || *value > kMostCount) {
    return failure(said + " is too large; the most is 1152921504606846976 (2^60)");
  }
  return *value;
}

// A number of units: "250ms", or in a rate just "s".
struct Length {
  std::uint64_t count = 1;
  Unit unit{};

  Duration duration() const {  // checked by length_in
    return Duration(static_cast<std::int64_t>(count * unit.ns));
  }
};

std::string exact_duration(const Number& number, const Unit& unit) {
  const auto fraction = fraction_of(number);
  if (fraction && fraction->top != 0 && unit.ns % fraction->bottom == 0) {
    const auto ns = product(fraction->top, unit.ns / fraction->bottom);
    if (ns && *ns <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return "write `" + duration_text(Duration(static_cast<std::int64_t>(*ns))) + "`";
    }
  }
  return "write a whole number of a smaller unit";
}

Result<Length> length_in(std::string_view text, std::string_view whole) {
  const std::string said = shown(whole);
  text = trimmed(text);
  if (text.starts_with('-')) {
    return failure(said + " is negative; write a time longer than 0, such as 5s");
  }
  const Number number = split_number(text);
  if (number.digits.empty() && number.decimals) {
    return failure(said + ": a number begins with a digit; write for example 500ms");
  }
  if (number.rest.empty()) {
    const std::string digits(number.digits.substr(0, 20));
    return failure(said + " has no unit; write for example `" + digits + "s` or `" + digits +
                   "min`");
  }
  const Unit* unit = find_unit(number.rest);
  if (unit == nullptr) {
    for (const char c : number.rest) {
      if (is_digit(c)) {
        return failure(said + ": write one number and one unit, such as 90min");
      }
    }
    return failure(said + ": " + why_no_unit(number.rest));
  }
  if (number.decimals) {
    return failure(said + " has a point; " + exact_duration(number, *unit));
  }
  Length length{1, *unit};
  if (!number.digits.empty()) {
    const auto value = value_of(number.digits);
    const auto ns = value ? product(*value, unit->ns) : std::nullopt;
    if (!ns || *ns > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return failure(said + " is too long; the most is 292 years");
    }
    if (*value == 0) {
      return failure(said + ": a time of zero is no time; write one longer than 0, such as 1s");
    }
    length.count = *value;
  }
  return length;
}

// The two sides of "5/s" or "5 per 10min".
struct Sides {
  std::string_view tokens;
  std::string_view period;
};

std::optional<Sides> split_rate(std::string_view text) {
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    return Sides{trimmed(text.substr(0, slash)), trimmed(text.substr(slash + 1))};
  }
  constexpr std::string_view kPer = "per";
  for (std::size_t at = text.find(kPer); at != std::string_view::npos;
       at = text.find(kPer, at + 1)) {
    const bool begins = at == 0 || text[at - 1] == ' ';
    const std::size_t end = at + kPer.size();
    if (begins && (end == text.size() || text[end] == ' ')) {
      return Sides{trimmed(text.substr(0, at)), trimmed(text.substr(end))};
    }
  }
  return std::nullopt;
}

Error why_no_rate(std::string_view text) {
  const std::string said = shown(text);
  const std::string read(text);
  if (count_in(text, text)) {
    return {said + " has no period; write `" + read + "/s`, `" + read + "/min` or another"};
  }
  const Number number = split_number(text);
  if (!number.digits.empty() && find_unit(number.rest) != nullptr) {
    if (length_in(text, text)) {
      return {said + " is a time, not a rate; write `1 per " + read + "`"};
    }
    const bool zero = number.digits.find_first_not_of('0') == std::string_view::npos;
    return {said + (zero ? " is a time of zero" : " is a time") +
            ", not a rate; write one such as 1 per 5s"};
  }
  return {said + " is no rate; write one such as 5/s, 300/min or 1 per 5s"};
}

// "1.5/s" is exact as "3 per 2s"; say so.
std::string whole_rate(const Number& number, std::uint64_t suffix, const Length& period) {
  auto fraction = fraction_of(number);
  if (fraction) {
    const std::uint64_t common = std::gcd(suffix, fraction->bottom);
    const auto tokens = product(fraction->top, suffix / common);
    const auto count = product(period.count, fraction->bottom / common);
    if (tokens && count) {
      const std::string unit(period.unit.name);
      const std::string left = std::to_string(*tokens);
      return *count == 1 ? left + "/" + unit : left + " per " + std::to_string(*count) + unit;
    }
  }
  return "3 per 2s";
}

}  // namespace

Result<std::uint64_t> parse_count(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return failure("nothing is written here; write a whole number such as 10");
  return count_in(text, text);
}

Result<Duration> parse_duration(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return failure("nothing is written here; write a time such as 250ms or 5s");
  if (text.front() != '-' && text.front() != '.' && !is_digit(text.front())) {
    return failure(shown(text) + " does not begin with a number; write a time such as 250ms or 5s");
  }
  return length_in(text, text).map([](const Length& length) { return length.duration(); });
}

Result<Rate> parse_rate(std::string_view text) {
  text = trimmed(text);
  const std::string said = shown(text);
  if (text.empty()) {
    return failure("nothing is written here; write a rate such as 5/s, 300/min or 1 per 5s");
  }
  if (text.starts_with('-')) {
    return failure(said + " is negative; write a rate such as 5/s, 300/min or 1 per 5s");
  }
  const auto sides = split_rate(text);
  if (!sides) return tl::unexpected(why_no_rate(text));
  if (sides->tokens.empty()) {
    return failure(said + " does not say how many; write for example 5/s or 1 per 5s");
  }
  if (sides->period.empty()) {
    return failure(said + " has no period; write for example 5/s or 1 per 5s");
  }
  if (split_rate(sides->period)) {
    return failure(said + " has two periods; write a rate such as 5/s or 1 per 5s");
  }
  const auto period = length_in(sides->period, text);
  if (!period) return tl::unexpected(period.error());
  const Number number = split_number(sides->tokens);
  const auto suffix = suffix_value(number.rest);
  if (number.decimals && !number.digits.empty() && suffix) {
    const auto fraction = fraction_of(number);
    if (!fraction || fraction->top != 0) {
      return failure(said + ": a token has no parts; write `" +
                     whole_rate(number, *suffix, *period) + "`");
    }
  }
  const auto tokens = count_in(sides->tokens, text);
  if (!tokens) return tl::unexpected(tokens.error());
  if (*tokens == 0) {
    return failure(said + " never refills; write at least one token per period, such as 1/d");
  }
  return Rate{*tokens, period->duration()};
}

std::string duration_text(Duration duration) {
  const auto ns = static_cast<std::uint64_t>(duration.count());
  const Unit& unit = largest_unit(ns);
  return std::to_string(ns / unit.ns) + std::string(unit.name);
}

std::string rate_text(const Rate& rate) {
  const std::string period = duration_text(rate.period);
  const std::string tokens = std::to_string(rate.tokens);
  const bool one_unit = period.size() > 1 && period[0] == '1' && !is_digit(period[1]);
  return one_unit ? tokens + "/" + period.substr(1) : tokens + " per " + period;
}

}  // namespace suimon
