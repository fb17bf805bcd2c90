#include "suimon/store/redis/script.h"

#include <openssl/evp.h>

#include <array>
#include <string_view>
#include <utility>

namespace suimon::store {
extern const std::string_view kTake;
extern const std::string_view kTakeWide;
extern const std::string_view kTakeGroups;
}  // namespace suimon::store

namespace suimon::redis {

Script make_script(std::string text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string sha1;
  for (unsigned i = 0; i < size; ++i) {
    sha1 += kDigits[digest[i] >> 4];
    sha1 += kDigits[digest[i] & 15];
  }
  return {std::move(text), std::move(sha1)};
}

const Script& take_script() {
  static const Script script = make_script(
      std::string(store::kTake) + std::string(store::kTakeWide) + std::string(store::kTakeGroups));
  return script;
}

}  // namespace suimon::redis
