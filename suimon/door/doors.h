// THE LIST of doors: the protocols in which decisions are asked for. To add one: a file that opens
// it and its line in doors.cc.
//
// A door's name is its setting (server.<name>, --<name>) and its label in metrics;
// its place in the list is its DoorId. Thread rule: the list is constant; an opened door belongs to
// its loop's thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "suimon/door/resp/password.h"
#include "suimon/engine/engine.h"
#include "suimon/net/server.h"
#include "suimon/observe/counters.h"
#include "suimon/policy/settings.h"

namespace suimon::door {

// What a door works with, all of one loop. Everything outlives the door.
struct DoorParts {
  net::Loop& loop;
  Engine& engine;
  LoopCounters& counters;
  DoorId id;
  const std::atomic<bool>& ready;  // whether new work is welcome, for answers about health
  const Clock& wall;               // the time of day, where an answer shows it
  const RespPassword& resp_password;
};

// One listener with its connections, on one loop.
class Door {
 public:
  virtual ~Door() = default;
  // No new connections; what comes on the open ones is answered as their last.
  virtual void drain() = 0;
  // Ends the connections on which nothing is under way.
  virtual void close_idle() = 0;
  virtual const net::Server& server() const = 0;
  // Requests that were wrong in themselves, in the order of kBadStatuses: in a protocol without
  // statuses those that HTTP has a status for. Null: they are not counted.
  virtual const BadRequests* bad_requests() const { return nullptr; }
  // Calls on open connections that found no place or buffer.
  virtual std::uint64_t refused_calls() const { return 0; }
};

struct DoorKind {
  std::string_view name;
  std::string_view environment;  // the variable that names its address
  std::string_view purpose;      // for --help
  std::string_view by_default;   // its address where none is given, or "off"
  std::optional<std::string> ServerSettings::* address;  // host:port, unix:/path or off
  std::string_view protocols;                            // for ALPN, as TlsStream takes them
  bool proxied;  // a proxy may stand before it that speaks the PROXY protocol
  std::unique_ptr<Door> (*open)(const DoorParts& parts, net::Fd listener,
                                const net::ServerLimits& limits, net::Greeting greeting);
};

std::span<const DoorKind> registered_doors();

}  // namespace suimon::door
