// One server: redis://, rediss:// and redis+unix://.
//
// Thread rule: the loop's thread.
#pragma once

#include "suimon/store/redis/calls.h"

namespace suimon::redis {

class SingleServer final : public Calls {
 public:
  SingleServer(net::Loop& loop, const net::Endpoint& endpoint, const LinkOptions& options)
      : Calls(loop, options.timeout), link_(loop, options, counters_, nullptr) {
    link_.aim(endpoint);
  }

  bool clustered() const override { return false; }

 private:
  Link* link_for(std::uint16_t) override { return &link_; }

  Link link_;
};

}  // namespace suimon::redis
