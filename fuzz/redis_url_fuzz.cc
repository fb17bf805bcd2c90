// Addresses of Redis servers: what is read is within its ranges, and no error tells a password.
#include <cstdlib>
#include <string>

#include "suimon/store/redis/url.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto url = suimon::redis::parse_url(text);
  if (!url) {
    if (url.error().text.empty()) std::abort();
    // A password of which the error shows a part, wherever it ended up for want of encoding.
    const bool secret = text.find('?') > text.find(":hunter2@") && text.starts_with("redis") &&
                        text.find("hunter2") == text.rfind("hunter2");
    if (secret && url.error().text.find("hunter2") != std::string::npos) std::abort();
    return 0;
  }
  if (url->endpoints.empty() || url->endpoints.size() > 64) std::abort();
  for (const auto& endpoint : url->endpoints) {
    if (endpoint.path.empty() && (endpoint.host.empty() || endpoint.port == 0)) std::abort();
  }
  if (url->shards == 0 || url->shards > 1024 || url->prefix.size() > 64) std::abort();
  for (const suimon::Duration time : {url->timeout, url->connect_timeout}) {
    if (time < std::chrono::milliseconds(1) || time > std::chrono::minutes(1)) std::abort();
  }
  return 0;
}
