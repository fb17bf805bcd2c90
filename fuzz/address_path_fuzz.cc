// Addresses, forwarded lists, paths and patterns: what strangers write into a request.
#include <cstdlib>
#include <string>

#include "suimon/policy/client_ip.h"
#include "suimon/policy/pattern.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string once;
  if (suimon::normalize_path(text, once)) {
    // Escapes make a path longer, and a path that is too long is refused.
    constexpr std::size_t kMostPath = 8192;
    std::string twice;
    if (suimon::normalize_path(once, twice) ? twice != once : once.size() <= kMostPath)
      std::abort();
    if (once.find("/../") != std::string::npos) std::abort();
    if (const auto pattern = suimon::PathPattern::make(text)) (void)pattern->matches(once);
  }
  const suimon::ClientIpRule rule;
  const auto peer = suimon::parse_address("127.0.0.1");
  std::array<char, 64> buffer;
  if (const auto client = rule.client(peer, text)) {
    const std::string_view written = suimon::client_text(*client, 128, buffer);
    if (suimon::parse_address(written) != client) std::abort();
  }
  (void)suimon::parse_range(text);
  (void)suimon::glob_matches(text.substr(0, size / 2), text.substr(size / 2));
  return 0;
}
