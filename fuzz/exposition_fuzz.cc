// A page of metrics that somebody else has written.
#include <cstdlib>

#include "suimon/observe/exposition.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto samples = suimon::parse_exposition(text)) {
    for (const suimon::Sample& sample : *samples) {
      if (sample.name.empty() || sample.labels.size() > 64) std::abort();
    }
  }
  return 0;
}
