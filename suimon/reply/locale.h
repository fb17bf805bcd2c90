// One language: the sentences that a refused caller reads.
//
// Sentences hold places in braces: {limit} {seconds} {cost} {capacity} {attribute}. Checked when
// suimon is compiled: a locale that lacks a sentence or has an unknown place does not build.
#pragma once

#include <array>
#include <string_view>

namespace suimon {

struct Locale {
  std::string_view tag;  // BCP 47, such as "en" or "pt-BR"

  // Titles name the kind of problem; they do not change from case to case (RFC 9457 section 3.1).
  std::string_view limited_title;
  std::string_view never_title;
  std::string_view missing_title;
  std::string_view overloaded_title;

  std::string_view limited_one;    // wait one second
  std::string_view limited_other;  // wait {seconds} seconds
  std::string_view never;          // the cost exceeds the capacity
  std::string_view missing;        // the limit needs an attribute that is not there
  std::string_view refused;        // refused, and nothing more is known
  std::string_view overloaded;     // suimon itself cannot decide now

  constexpr std::array<std::string_view, 10> texts() const {
    return {limited_title, never_title, missing_title, overloaded_title, limited_one,
            limited_other, never,       missing,       refused,          overloaded};
  }

  // Whether every text is there and names only known places.
  constexpr bool complete() const {
    constexpr std::array<std::string_view, 5> kPlaces = {"limit", "seconds", "cost", "capacity",
                                                         "attribute"};
    for (std::string_view text : texts()) {
      if (text.empty()) return false;
      for (auto open = text.find('{'); open != std::string_view::npos; open = text.find('{')) {
        const auto close = text.find('}', open);
        if (close == std::string_view::npos) return false;
        bool known = false;
        for (std::string_view place : kPlaces) {
          known = known || place == text.substr(open + 1, close - open - 1);
        }
        if (!known) return false;
        text.remove_prefix(close + 1);
      }
    }
    return !tag.empty();
  }
};

}  // namespace suimon
