// PROXY headers: a header is what it says, whatever stands behind it, and it never grows beyond its
// bounds.
#include <cstdlib>
#include <string_view>

#include "suimon/net/proxy_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using suimon::net::ProxyHeader;
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  const ProxyHeader header = suimon::net::parse_proxy_header(in);
  switch (header.status) {
    case ProxyHeader::Status::need_more:
      if (in.size() >= ProxyHeader::kMostBytes) std::abort();
      break;
    case ProxyHeader::Status::bad:
      if (header.mistake.empty()) std::abort();
      break;
    case ProxyHeader::Status::good: {
      if (header.length == 0 || header.length > in.size()) std::abort();
      if (header.length > ProxyHeader::kMostBytes) std::abort();
      const ProxyHeader alone = suimon::net::parse_proxy_header(in.substr(0, header.length));
      if (alone.status != header.status || alone.length != header.length) std::abort();
      if (alone.client != header.client) std::abort();
      const auto shorter = suimon::net::parse_proxy_header(in.substr(0, header.length - 1));
      if (shorter.status != ProxyHeader::Status::need_more) std::abort();
      break;
    }
  }
  return 0;
}
