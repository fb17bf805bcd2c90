// Hashes of keys, and the secret's file: what is read is written the same, but for the case.
#include <cstdlib>

#include "suimon/base/text.h"
#include "suimon/core/key_text.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto key = suimon::parse_key_text(text);
  if (key && suimon::key_text(*key) != suimon::ascii_lower(text)) std::abort();
  return 0;
}
