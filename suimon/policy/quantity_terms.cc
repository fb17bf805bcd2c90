#include "suimon/policy/quantity_terms.h"

#include <numeric>

#include "suimon/base/text.h"
#include "suimon/policy/mistakes.h"

namespace suimon::quantity {
namespace {

constexpr std::size_t kMostDecimals = 9;

constexpr std::uint64_t kSecond = 1'000'000'000;
// In the order in which we try them when we write a duration ourselves.
constexpr Unit kUnits[] = {
    {"d", 86'400 * kSecond},
    {"day", 86'400 * kSecond},
    {"days", 86'400 * kSecond},
    {"h", 3'600 * kSecond},
    {"hour", 3'600 * kSecond},
    {"hours", 3'600 * kSecond},
    {"min", 60 * kSecond},
    {"minute", 60 * kSecond},
    {"minutes", 60 * kSecond},
    {"s", kSecond},
    {"sec", kSecond},
    {"second", kSecond},
    {"seconds", kSecond},
    {"ms", 1'000'000},
    {"us", 1'000},
    {"ns", 1},
    {"week", 604'800 * kSecond},
    {"weeks", 604'800 * kSecond},
};

struct WrongUnit {
  std::string_view read;
  std::string_view cure;
};
constexpr WrongUnit kWrongUnits[] = {
    {"m", "`m` could be minutes, months or milliseconds; write `min` for minutes"},
    {"month", "calendar months are not in this version; write `30d` for thirty days"},
    {"months", "calendar months are not in this version; write `30d` for thirty days"},
    {"mo", "calendar months are not in this version; write `30d` for thirty days"},
    {"y", "years are no unit here; write `365d`"},
    {"year", "years are no unit here; write `365d`"},
    {"years", "years are no unit here; write `365d`"},
    {"w", "`w` is no unit; write `week`"},
    {"secs", "`secs` is no unit; write `s`"},
    {"mins", "`mins` is no unit; write `min`"},
    {"hr", "`hr` is no unit; write `h`"},
    {"hrs", "`hrs` is no unit; write `h`"},
    {"µs", "`µs` is no unit; write `us`"},
};

std::string_view take_digits(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && is_digit(text[size])) ++size;
  const std::string_view digits = text.substr(0, size);
  text.remove_prefix(size);
  return digits;
}

}  // namespace

bool is_digit(char c) { return c >= '0' && c <= '9'; }

const Unit* find_unit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

std::string why_no_unit(std::string_view read) {
  for (const WrongUnit& wrong : kWrongUnits) {
    if (wrong.read == read) return std::string(wrong.cure);
  }
  const std::string small = ascii_lower(read);
  if (find_unit(small) != nullptr) return shown(read) + " is no unit; write `" + small + "`";
  return shown(read) + " is no unit; write ns, us, ms, s, min, h, d or week";
}

Number split_number(std::string_view text) {
  Number number;
  number.digits = take_digits(text);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    number.decimals = take_digits(text);
  }
  number.rest = trimmed(text);
  return number;
}

std::optional<std::uint64_t> value_of(std::string_view digits) {
  std::uint64_t value = 0;
  for (const char c : digits) {
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &value) ||
        __builtin_add_overflow(value, static_cast<std::uint64_t>(c - '0'), &value)) {
      return std::nullopt;
    }
  }
  return value;
}

std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t value = 0;
  if (__builtin_mul_overflow(a, b, &value)) return std::nullopt;
  return value;
}

std::optional<Fraction> fraction_of(const Number& number) {
  const std::string_view decimals = number.decimals.value_or("");
  if (decimals.size() > kMostDecimals) return std::nullopt;
  const auto top = value_of(std::string(number.digits) + std::string(decimals));
  if (!top) return std::nullopt;
  Fraction fraction{*top, 1};
  for (std::size_t i = 0; i < decimals.size(); ++i) fraction.bottom *= 10;
  const std::uint64_t common = std::gcd(fraction.top, fraction.bottom);
  return Fraction{fraction.top / common, fraction.bottom / common};
}

std::optional<std::uint64_t> suffix_value(std::string_view suffix) {
  if (suffix.empty()) return 1;
  if (suffix == "k") return 1'000;
  if (suffix == "M") return 1'000'000;
  if (suffix == "G") return 1'000'000'000;
  return std::nullopt;
}

std::string why_no_suffix(std::string_view rest) {
  if (rest == "K") return "`K` is no suffix; write `k` for thousands";
  if (rest == "m") return "`m` is no suffix; write `M` for millions";
  if (rest == "g") return "`g` is no suffix; write `G` for thousands of millions";
  if (rest.front() == '_' || rest.front() == ',' || rest.front() == '\'') {
    return "write the digits without separators, or with k, M or G";
  }
  if (rest.front() == 'e' || rest.front() == 'E') {
    return "write the number out, or with k, M or G, such as `1M`";
  }
  return shown(rest) + " does not belong to a number; only k, M and G do";
}

const Unit& largest_unit(std::uint64_t ns) {
  const Unit* unit = kUnits;
  while (ns % unit->ns != 0) ++unit;  // ends at ns, which divides everything
  return *unit;
}

}  // namespace suimon::quantity
