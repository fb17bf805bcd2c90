// What counts, durations and rates are made of: numbers as text, units and suffixes, and the cure
// for those that do not exist. Internal to suimon/policy/quantity.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace suimon::quantity {

bool is_digit(char c);

struct Unit {
  std::string_view name;
  std::uint64_t ns = 0;
};
const Unit* find_unit(std::string_view name);
// The largest that divides `ns`; weeks are not tried.
const Unit& largest_unit(std::uint64_t ns);
std::string why_no_unit(std::string_view read);

// What k, M, G or "" multiply by; nothing for anything else.
std::optional<std::uint64_t> suffix_value(std::string_view suffix);
std::string why_no_suffix(std::string_view rest);

// The beginning of a text as a number, and what follows it.
struct Number {
  std::string_view digits;
  std::optional<std::string_view> decimals;  // what follows a point
  std::string_view rest;
};
Number split_number(std::string_view text);

// Nothing when it does not fit.
std::optional<std::uint64_t> value_of(std::string_view digits);
std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b);

// A number with a point in lowest terms: 1.25 is 5/4. Nothing when it has more than nine decimals
// or does not fit.
struct Fraction {
  std::uint64_t top = 0;
  std::uint64_t bottom = 1;
};
std::optional<Fraction> fraction_of(const Number& number);

}  // namespace suimon::quantity
