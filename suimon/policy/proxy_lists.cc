#include "suimon/policy/proxy_lists.h"

#include "suimon/base/text.h"

namespace suimon {

std::vector<AddressRange> read_proxy_list(std::string_view text,
                                          std::vector<ListMistake>& mistakes) {
  std::vector<AddressRange> ranges;
  for (int line = 1; !text.empty(); ++line) {
    const auto end = text.find('\n');
    std::string_view entry = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (entry.ends_with('\r')) entry.remove_suffix(1);
    entry = trimmed(entry.substr(0, entry.find('#')));
    if (entry.empty()) continue;
    if (auto range = parse_range(entry)) {
      ranges.push_back(*range);
    } else {
      mistakes.push_back({line, range.error().text});
    }
  }
  return ranges;
}

}  // namespace suimon
