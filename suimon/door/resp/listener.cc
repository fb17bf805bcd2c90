#include "suimon/door/resp/listener.h"

#include <algorithm>
#include <utility>

#include "suimon/door/resp/session.h"

namespace suimon::door {
namespace {

// Clients of Redis keep connections in pools for later and do not expect to lose them.
constexpr Duration kShortestIdle = std::chrono::hours(1);

net::ServerLimits patient(net::ServerLimits limits) {
  limits.idle_timeout = std::max(limits.idle_timeout, kShortestIdle);
  return limits;
}

class RespListener final : public Door {
 public:
  RespListener(const DoorParts& parts, net::Fd listener, const net::ServerLimits& limits,
               net::Greeting greeting)
      : resp_(parts.loop, std::move(listener), parts.engine, parts.counters, parts.id,
              parts.resp_password, patient(limits), std::move(greeting)) {}

  void drain() override { resp_.drain(); }
  void close_idle() override { resp_.close_idle(); }
  const net::Server& server() const override { return resp_.server(); }
  const BadRequests* bad_requests() const override { return &resp_.bad_requests(); }

 private:
  RespServer resp_;
};

}  // namespace

std::unique_ptr<Door> open_resp(const DoorParts& parts, net::Fd listener,
                                const net::ServerLimits& limits, net::Greeting greeting) {
  return std::make_unique<RespListener>(parts, std::move(listener), limits, std::move(greeting));
}

}  // namespace suimon::door
