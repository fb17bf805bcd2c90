// Where a door listens, as an operator writes it: what is read can be written again and read the
// same.
#include <cstdlib>
#include <string_view>

#include "suimon/net/address.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto address = suimon::net::parse_listen_address(text);
  if (!address) {
    if (address.error().text.empty()) std::abort();
    return 0;
  }
  const auto again = suimon::net::parse_listen_address(suimon::net::to_text(*address));
  if (!again || *again != *address) std::abort();
  return 0;
}
