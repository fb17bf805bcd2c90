// One GET to an admin listener.
#pragma once

#include <string>

#include "suimon/net/address.h"
#include "suimon/result.h"

namespace suimon::app {

struct AdminServer {
  net::ListenAddress address;  // tcp or a unix socket
  std::string token;           // "": none is sent
};

// The body of a 200, at most 64 MiB, within 5 seconds. An error also when `stop` (a descriptor, or
// -1) becomes readable first.
Result<std::string> get(const AdminServer& server, const std::string& path, int stop);

}  // namespace suimon::app
