// Lists of proxies: every line is a range, nothing, or a mistake with its place.
#include <cstdlib>
#include <string_view>

#include "suimon/policy/proxy_lists.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::vector<suimon::ListMistake> mistakes;
  const auto ranges =
      suimon::read_proxy_list({reinterpret_cast<const char*>(data), size}, mistakes);
  for (const auto& range : ranges) {
    if (range.bits > 128 || !range.contains(range.base)) std::abort();
  }
  int last = 0;
  for (const auto& mistake : mistakes) {
    if (mistake.line <= last || mistake.text.empty()) std::abort();
    last = mistake.line;
  }
  return 0;
}
