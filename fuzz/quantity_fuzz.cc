// Counts, durations and rates as people write them: what is read keeps its bounds, and a duration
// can be written again and read the same.
#include <cstdlib>
#include <string_view>

#include "suimon/policy/quantity.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto count = suimon::parse_count(text);
  if (count ? *count > std::uint64_t{1} << 60 : count.error().text.empty()) std::abort();
  const auto rate = suimon::parse_rate(text);
  if (rate && (rate->tokens == 0 || rate->period.count() <= 0)) std::abort();
  if (const auto duration = suimon::parse_duration(text)) {
    const auto again = suimon::parse_duration(suimon::duration_text(*duration));
    if (duration->count() <= 0 || !again || *again != *duration) std::abort();
  }
  return 0;
}
