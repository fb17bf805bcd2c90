#include "suimon/reply/locales.h"

#include <algorithm>
#include <array>

#include "suimon/base/text.h"
#include "suimon/policy/answers.h"
#include "suimon/reply/locales/de.h"
#include "suimon/reply/locales/en.h"
#include "suimon/reply/locales/es.h"
#include "suimon/reply/locales/fr.h"
#include "suimon/reply/locales/ja.h"
#include "suimon/reply/locales/ko.h"
#include "suimon/reply/locales/pt.h"
#include "suimon/reply/locales/zh.h"

namespace suimon {
namespace {

template <const Locale& kLocale>
constexpr const Locale* checked() {
  static_assert(kLocale.complete(), "a text is missing, too many or names an unknown place");
  return &kLocale;
}

constexpr std::array kLocales = {
    checked<locales::kEnglish>(), checked<locales::kJapanese>(), checked<locales::kGerman>(),
    checked<locales::kFrench>(),  checked<locales::kSpanish>(),  checked<locales::kPortuguese>(),
    checked<locales::kChinese>(), checked<locales::kKorean>(),
};
static_assert(
    std::equal(kLocales.begin(), kLocales.end(), kLanguageTags.begin(), kLanguageTags.end(),
               [](const Locale* locale, std::string_view tag) { return locale->tag == tag; }),
    "policy files name the languages of kLanguageTags, in that order");
static_assert(kLocales.size() <= 32, "AcceptedLanguages::excluded has a bit for each");

// One entry of Accept-Language.
struct Range {
  std::string_view tag;
  int quality = 0;  // in thousandths
};

// "q=0.8" in thousandths; 1000 when there is none, nothing when it cannot be read.
std::optional<int> quality(std::string_view parameters) {
  const std::string_view weight = trimmed(parameters);
  if (weight.empty()) return 1000;
  if (weight.size() < 3 || ascii_lower(weight[0]) != 'q' || weight[1] != '=') return std::nullopt;
  const std::string_view number = weight.substr(2);
  if (number[0] != '0' && number[0] != '1') return std::nullopt;
  int thousandths = (number[0] - '0') * 1000;
  if (number.size() == 1) return thousandths;
  if (number[1] != '.' || number.size() > 5) return std::nullopt;
  int place = 100;
  for (const char digit : number.substr(2)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    thousandths += (digit - '0') * place;
    place /= 10;
  }
  return std::min(thousandths, 1000);
}

// Calls `use` with each entry that can be read, 32 at most.
template <class Use>
void for_each_range(std::string_view list, Use use) {
  for (int entry = 0; entry < 32 && !list.empty(); ++entry) {
    const auto comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    const auto semicolon = item.find(';');
    const std::string_view tag = trimmed(item.substr(0, semicolon));
    const std::optional<int> q =
        semicolon == std::string_view::npos ? 1000 : quality(item.substr(semicolon + 1));
    if (!tag.empty() && q) use(Range{tag, *q});
  }
}

// The place of the locale for a range: the range itself, then with its last subtags taken off.
std::optional<std::uint8_t> look_up(std::string_view range) {
  for (;;) {
    for (std::size_t place = 0; place < kLocales.size(); ++place) {
      if (equal_ignoring_case(kLocales[place]->tag, range)) return static_cast<std::uint8_t>(place);
    }
    const auto dash = range.rfind('-');
    if (dash == std::string_view::npos) return std::nullopt;
    range = range.substr(0, dash);
  }
}

// Whether a range asks for Chinese in traditional characters: by its script, else by its region.
bool is_traditional(std::string_view range) {
  bool traditional = false;
  auto dash = range.find('-');
  if (!equal_ignoring_case(range.substr(0, dash), "zh")) return false;
  while (dash != std::string_view::npos) {
    range = range.substr(dash + 1);
    dash = range.find('-');
    const std::string_view subtag = range.substr(0, dash);
    if (subtag.size() == 1) break;  // extensions and private use say nothing of it
    if (equal_ignoring_case(subtag, "Hans")) return false;
    for (const std::string_view sign : {"Hant", "TW", "HK", "MO"}) {
      traditional = traditional || equal_ignoring_case(subtag, sign);
    }
  }
  return traditional;
}

// Basic filtering: the range is the tag or its beginning.
bool matches(std::string_view range, std::string_view tag) {
  return equal_ignoring_case(tag.substr(0, range.size()), range) &&
         (tag.size() == range.size() || tag[range.size()] == '-');
}

}  // namespace

std::span<const Locale* const> registered_locales() { return kLocales; }

AcceptedLanguages read_accept_language(std::string_view value) {
  AcceptedLanguages accepted;
  std::uint32_t named = 0;
  bool others = true;  // may languages be used that nobody named
  for_each_range(value, [&](const Range& range) {
    if (range.tag == "*") {
      others = others && range.quality > 0;
      return;
    }
    const auto place = look_up(range.tag);
    if (range.quality > 0) {
      if (place) named |= 1U << *place;
      return;
    }
    for (std::size_t i = 0; i < kLocales.size(); ++i) {
      if (matches(range.tag, kLocales[i]->tag)) accepted.excluded |= 1U << i;
    }
  });
  if (!others) accepted.excluded |= ~named;

  int best_quality = 0;
  bool best_is_makeshift = false;
  for_each_range(value, [&](const Range& range) {
    const auto place = look_up(range.tag);
    if (!place || range.quality == 0 || (accepted.excluded >> *place & 1U) != 0) return;
    const bool makeshift = is_traditional(range.tag);
    if (range.quality > best_quality ||
        (range.quality == best_quality && best_is_makeshift && !makeshift)) {
      accepted.best = place;
      best_quality = range.quality;
      best_is_makeshift = makeshift;
    }
  });
  return accepted;
}

const Locale& AcceptedLanguages::choose(std::uint8_t otherwise) const {
  if (best) return *kLocales[*best];
  if ((excluded >> otherwise & 1U) == 0) return *kLocales[otherwise];
  for (std::size_t i = 0; i < kLocales.size(); ++i) {
    if ((excluded >> i & 1U) == 0) return *kLocales[i];
  }
  return *kLocales[otherwise];
}

const Locale& choose_locale(std::string_view accept_language, std::uint8_t otherwise) {
  return read_accept_language(accept_language).choose(otherwise);
}

}  // namespace suimon
