// HTTP as a door of THE LIST: checks, forward-auth and refusals (http_door.h) behind a listener.
#pragma once

#include "suimon/door/doors.h"

namespace suimon::door {

std::unique_ptr<Door> open_http(const DoorParts& parts, net::Fd listener,
                                const net::ServerLimits& limits, net::Greeting greeting);

}  // namespace suimon::door
