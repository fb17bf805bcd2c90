#include "suimon/door/doors.h"

#include "suimon/door/grpc/grpc_door.h"
#include "suimon/door/http_listener.h"
#include "suimon/door/resp/listener.h"

namespace suimon::door {
namespace {

constexpr DoorKind kDoors[] = {
    {"http", "SUIMON_HTTP", "where checks are asked", "127.0.0.1:8080", &ServerSettings::http,
     "\x08http/1.1", true, open_http},
    {"grpc", "SUIMON_GRPC", "where Envoy asks, by gRPC", "off", &ServerSettings::grpc, "\x02h2",
     false, open_grpc},
    {"resp", "SUIMON_RESP", "where clients of Redis ask", "off", &ServerSettings::resp, "", false,
     open_resp},
};
static_assert(std::size(kDoors) < LoopCounters::kMostDoors);  // the admin listener counts, too

}  // namespace

std::span<const DoorKind> registered_doors() { return kDoors; }

}  // namespace suimon::door
