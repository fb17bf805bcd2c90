// The Redis protocol as a door of THE LIST (session.h) behind a listener.
#pragma once

#include "suimon/door/doors.h"

namespace suimon::door {

std::unique_ptr<Door> open_resp(const DoorParts& parts, net::Fd listener,
                                const net::ServerLimits& limits, net::Greeting greeting);

}  // namespace suimon::door
