// The JSON of a check and of a batch.
#include <cstdlib>

#include "suimon/door/check_body.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static suimon::door::CheckReader reader;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto one = reader.read_one(text)) {
    if (reader.request(**one).attributes.size() > suimon::Request::kMostAttributes) std::abort();
  }
  if (const auto batch = reader.read_batch(text)) {
    for (const auto& check : *batch) {
      if (check.mistake.empty()) (void)reader.request(check);
    }
  }
  return 0;
}
