// The Forwarded field: what a stranger wrote on the left never changes what our proxies appended.
#include <cstdlib>
#include <string>

#include "suimon/policy/client_ip.h"
#include "suimon/policy/forwarded.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string forged(reinterpret_cast<const char*>(data), size);
  for (const char* appended : {"for=203.0.113.9", "for=\"[2001:db8::9]:443\";by=_a,for=10.0.0.7",
                               "proto=\"a\\\"b,\\\\\";For=203.0.113.9:_p"}) {
    suimon::ClientIpRule rule;
    rule.from = suimon::ClientIpRule::From::forwarded;
    rule.trusted_proxies = {*suimon::parse_range("10.0.0.0/8")};
    const auto peer = suimon::parse_address("10.0.0.1");
    const auto honest = rule.client(peer, appended);
    if (!honest || honest == peer) std::abort();
    if (rule.client(peer, forged + ", " + appended) != honest) std::abort();
    rule.trusted_hops = 1;
    if (rule.client(peer, forged + "," + appended) != rule.client(peer, appended)) std::abort();
  }
  std::string_view list = forged;
  while (!list.empty()) {
    const std::size_t before = list.size();
    (void)suimon::forwarded_for(suimon::pop_last_forwarded(list));
    if (list.size() >= before) std::abort();
  }
  return 0;
}
