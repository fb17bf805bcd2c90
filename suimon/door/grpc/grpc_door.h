// The gRPC door: Envoy's rate limit service and gRPC's health service.
//
//   envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit
//   grpc.health.v1.Health/Check, /Watch
//
// The door only translates. The descriptors of one request are decided together, all or none, and
// each is told where its own limits stand. What says nothing of a limit passes: a domain that is
// not loaded, a descriptor that no limit applies to. What cannot be judged though it should be, a
// path that cannot be decoded, does not: many gateways let pass what they get an error for.
// Thread rule: one door per loop, on its thread.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/base/pool.h"
#include "suimon/door/doors.h"
#include "suimon/door/grpc/rls_request.h"
#include "suimon/door/grpc/rls_response.h"
#include "suimon/door/grpc/server.h"
#include "suimon/engine/engine.h"

namespace suimon::door {

class GrpcDoor final : public GrpcHandler, private net::TimerTarget {
 public:
  explicit GrpcDoor(const DoorParts& parts);
  ~GrpcDoor() override;

  void wake(Instant now) override { engine_.wake(now); }
  int method_of(std::string_view path) override;
  void handle(int method, std::string_view message, GrpcCall& call) override;
  void gone(GrpcCall& call) override;

  // Tells those who watch that no new work is welcome.
  void drain();
  // Watches that were one too many.
  std::uint64_t refused_watches() const { return refused_watches_; }

 private:
  struct Pending;
  // grpc.health.v1.HealthCheckResponse.ServingStatus
  enum class Health : std::uint8_t { serving = 1, not_serving = 2, service_unknown = 3 };
  struct Watch {
    GrpcCall* call;
    Health told;
  };

  void limit(std::string_view message, GrpcCall& call);
  void answer(Pending& pending, const Verdict& verdict);
  void check_health(std::string_view message, GrpcCall& call);
  void watch_health(std::string_view message, GrpcCall& call);
  Health health() const;
  void tell_watchers();
  void on_timer(Instant now) override;

  net::Loop& loop_;
  Engine& engine_;
  LoopCounters& counters_;
  DoorId id_;
  const std::atomic<bool>& ready_;
  const Clock& wall_;
  bool draining_ = false;
  RlsRequest request_;
  RlsResponse response_;
  std::uint64_t decided_in_wake_ = 0;
  std::vector<Watch> watches_;
  std::uint64_t refused_watches_ = 0;
  net::Timers::Id timer_;
  Pool<Pending> pendings_;
};

// The door of THE LIST.
std::unique_ptr<Door> open_grpc(const DoorParts& parts, net::Fd listener,
                                const net::ServerLimits& limits, net::Greeting greeting);

}  // namespace suimon::door
