// The JSON that names a key of a limit, and that of a refund.
#include <cstdlib>

#include "suimon/door/check_body.h"
#include "suimon/door/key_body.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static suimon::door::KeyReader keys;
  static suimon::door::CheckReader checks;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto key = keys.read(text)) {
    if (key->limit.size() > size || key->attributes.size() > suimon::Request::kMostAttributes) {
      std::abort();
    }
    if (key->hash && !key->attributes.empty()) std::abort();
  }
  std::string_view id;
  if (const auto refund = checks.read_refund(text, id)) {
    if (id.empty() || id.size() > 256) std::abort();
    (void)checks.request(**refund);
  }
  return 0;
}
