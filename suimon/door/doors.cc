#include "suimon/door/doors.h"

#include "suimon/door/http_listener.h"
#include "suimon/door/resp/listener.h"

namespace suimon::door {
namespace {

constexpr DoorKind kDoors[] = {
    {"http", "SUIMON_HTTP", "where checks are asked", "127.0.0.1:8080", &ServerSettings::http,
     "\x08http/1.1", true, open_http},
    {"resp", "SUIMON_RESP", "where clients of Redis ask", "off", &ServerSettings::resp, "", false,
     open_resp},
};
static_assert(std::size(kDoors) < LoopCounters::kMostDoors);  // the admin listener counts, too

}  // namespace

std::span<const DoorKind> registered_doors() { return kDoors; }

}  // namespace suimon::door
