// Store URLs: what is read is within its range, and names a scheme of the text.
#include <cstdlib>

#include "suimon/store/store_url.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto url = suimon::parse_store_url(text);
  if (!url) return url.error().text.empty() ? (std::abort(), 1) : 0;
  if (url->max_keys == 0 || url->max_keys > std::uint64_t{1} << 32) std::abort();
  if (url->scheme.empty() || !text.starts_with(url->scheme)) std::abort();
  return 0;
}
