#include "suimon/reply/locales.h"

#include <algorithm>
#include <array>

#include "suimon/base/text.h"
#include "suimon/reply/locales/en.h"
#include "suimon/reply/locales/ja.h"

namespace suimon {
namespace {

template <const Locale& locale>
constexpr const Locale* checked() {
  static_assert(locale.complete(), "a text is missing or names an unknown place");
  return &locale;
}

constexpr std::array<const Locale*, 2> kLocales = {
    checked<locales::kEnglish>(),
    checked<locales::kJapanese>(),
};

// "q=0.8" in thousandths; 1000 when there is none, 0 when it cannot be read.
int quality(std::string_view parameters) {
  const std::string_view weight = trimmed(parameters);
  if (weight.empty()) return 1000;
  if (weight.size() < 3 || ascii_lower(weight[0]) != 'q' || weight[1] != '=') return 0;
  const std::string_view number = weight.substr(2);
  if (number[0] != '0' && number[0] != '1') return 0;
  int thousandths = (number[0] - '0') * 1000;
  if (number.size() == 1) return thousandths;
  if (number[1] != '.' || number.size() > 5) return 0;
  int place = 100;
  for (const char digit : number.substr(2)) {
    if (digit < '0' || digit > '9') return 0;
    thousandths += (digit - '0') * place;
    place /= 10;
  }
  return std::min(thousandths, 1000);
}

// The locale for a language range: the range itself, then with its last subtags taken off.
const Locale* look_up(std::string_view range) {
  for (;;) {
    for (const Locale* locale : kLocales) {
      if (equal_ignoring_case(locale->tag, range)) return locale;
    }
    const auto dash = range.rfind('-');
    if (dash == std::string_view::npos) return nullptr;
    range = range.substr(0, dash);
  }
}

}  // namespace

std::span<const Locale* const> registered_locales() { return kLocales; }

const Locale& choose_locale(std::string_view accept_language) {
  const Locale* best = kLocales[0];
  int best_quality = 0;
  for (int entry = 0; entry < 32 && !accept_language.empty(); ++entry) {
    const auto comma = accept_language.find(',');
    const std::string_view item = accept_language.substr(0, comma);
    accept_language =
        comma == std::string_view::npos ? std::string_view{} : accept_language.substr(comma + 1);
    const auto semicolon = item.find(';');
    const std::string_view range = trimmed(item.substr(0, semicolon));
    const int q = semicolon == std::string_view::npos ? 1000 : quality(item.substr(semicolon + 1));
    const Locale* locale = range == "*" ? kLocales[0] : look_up(range);
    if (locale != nullptr && q > best_quality) {
      best = locale;
      best_quality = q;
    }
  }
  return *best;
}

}  // namespace suimon
