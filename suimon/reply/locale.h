// One language: the sentences that a refused caller reads.
//
// Sentences hold places in braces: {limit} {seconds} {cost} {capacity} {attribute}. Checked when
// suimon is compiled: a locale that lacks a sentence, has an unknown place or lacks a plural form
// does not build. Only {seconds} stands beside a noun that bends; a sentence puts {cost} and
// {capacity} where their number does not matter, or counts on cost > capacity >= 1.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace suimon {

// The plural categories that our languages tell apart for whole numbers.
// Source: Unicode CLDR 46, Language Plural Rules (cardinal).
enum class Plural : std::uint8_t { one, many, other };

namespace plurals {

// Japanese, Chinese, Korean: one form.
constexpr Plural none(std::uint64_t) { return Plural::other; }

// English, German.
constexpr Plural one_is_one(std::uint64_t n) { return n == 1 ? Plural::one : Plural::other; }

// "1000000 de segundos": a round number of millions is a noun of its own.
constexpr bool is_millions(std::uint64_t n) { return n != 0 && n % 1'000'000 == 0; }

// Spanish.
constexpr Plural one_and_millions(std::uint64_t n) {
  return is_millions(n) ? Plural::many : one_is_one(n);
}

// French, Portuguese.
constexpr Plural zero_one_and_millions(std::uint64_t n) {
  return is_millions(n) ? Plural::many : n <= 1 ? Plural::one : Plural::other;
}

}  // namespace plurals

struct Locale {
  std::string_view tag;                               // BCP 47, such as "en" or "pt-BR"
  Plural (*plural)(std::uint64_t n) = plurals::none;  // which form goes with n of something

  // Titles name the kind of problem; they do not change from case to case (RFC 9457 section 3.1).
  std::string_view limited_title;
  std::string_view never_title;
  std::string_view missing_title;
  std::string_view overloaded_title;

  // Wait {seconds} seconds, in each form that `plural` gives; the others stay empty.
  std::string_view limited_one{};
  std::string_view limited_many{};
  std::string_view limited_other;
  std::string_view never;       // the cost exceeds the capacity
  std::string_view missing;     // the limit needs an attribute that is not there
  std::string_view refused;     // refused, and nothing more is known: wait one second
  std::string_view overloaded;  // suimon itself cannot decide now

  constexpr std::string_view limited(std::uint64_t seconds) const {
    switch (plural(seconds)) {
      case Plural::one:
        return limited_one;
      case Plural::many:
        return limited_many;
      case Plural::other:
        break;
    }
    return limited_other;
  }

  // Whether every text is there and names only known places.
  constexpr bool complete() const {
    for (const std::string_view text : {limited_title, never_title, missing_title, overloaded_title,
                                        limited_other, never, missing, refused, overloaded}) {
      if (!good(text)) return false;
    }
    // A form is there exactly when the language has it.
    return good(limited(1)) && good(limited(1'000'000)) &&
           (plural(1) == Plural::one) == !limited_one.empty() &&
           (plural(1'000'000) == Plural::many) == !limited_many.empty() && !tag.empty();
  }

 private:
  static constexpr bool good(std::string_view text) {
    constexpr std::array<std::string_view, 5> kPlaces = {"limit", "seconds", "cost", "capacity",
                                                         "attribute"};
    if (text.empty()) return false;
    for (auto open = text.find('{'); open != std::string_view::npos; open = text.find('{')) {
      const auto close = text.find('}', open);
      if (close == std::string_view::npos) return false;
      bool known = false;
      for (const std::string_view place : kPlaces) {
        known = known || place == text.substr(open + 1, close - open - 1);
      }
      if (!known) return false;
      text.remove_prefix(close + 1);
    }
    return true;
  }
};

}  // namespace suimon
