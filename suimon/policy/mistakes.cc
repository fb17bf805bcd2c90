#include "suimon/policy/mistakes.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace suimon {

std::string Mistake::to_string() const {
  if (line == 0) return file + ": " + text;
  return file + ":" + suimon::to_string(Place{line, column}) + ": " + text;
}

std::string to_string(Place place) {
  return std::to_string(place.line) + ":" + std::to_string(place.column);
}

std::string printable(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  const auto escape = [&](unsigned char byte) {
    out += "\\x";
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0xFF);
    if (byte < 0x20 || byte == 0x7F) {
      escape(byte);
    } else if (byte == 0xC2 && next < 0xA0) {  // U+0080 to U+009F
      escape(byte);
      escape(next);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMostBytes = 60;
  if (text.size() <= kMostBytes) return "`" + printable(text) + "`";
  std::size_t end = kMostBytes;
  // Not in the middle of a character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return "`" + printable(text.substr(0, end)) + "...`";
}

void Mistakes::append(std::vector<Mistake>& list, Place at, std::string text) {
  if (list.size() >= kMost) return;
  if (list.size() == kMost - 1) text = "there are more; mend these first";
  list.push_back({file_, at.line, at.column, printable(text)});
}

void Mistakes::hand_over(Loaded& out) {
  const auto by_place = [](const Mistake& a, const Mistake& b) {
    return std::tie(a.line, a.column, a.text) < std::tie(b.line, b.column, b.text);
  };
  const auto move_all = [&](std::vector<Mistake>& from, std::vector<Mistake>& to) {
    // The hundredth says that there are more, so it stays last.
    const auto end = from.size() == kMost ? std::prev(from.end()) : from.end();
    std::sort(from.begin(), end, by_place);
    std::move(from.begin(), from.end(), std::back_inserter(to));
    from.clear();
  };
  move_all(mistakes_, out.mistakes);
  move_all(warnings_, out.warnings);
}

}  // namespace suimon
