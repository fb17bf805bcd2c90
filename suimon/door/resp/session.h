// The Redis protocol over a connection: bytes to commands, decisions to replies, in order.
//
// Calls of CL.THROTTLE and THROTTLE that have arrived together are decided together, as of one
// reading of the clock, and so are those of SUIMON.CHECK; everything that was answered goes out in
// one write. Until a store that
// answers later has answered, the connection's next commands wait.
// Thread rule: everything on the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "suimon/base/pool.h"
#include "suimon/door/resp/check_call.h"
#include "suimon/door/resp/commands.h"
#include "suimon/door/resp/reader.h"
#include "suimon/door/resp/throttle_call.h"
#include "suimon/engine/engine.h"
#include "suimon/engine/throttle.h"
#include "suimon/net/server.h"
#include "suimon/observe/counters.h"

namespace suimon::door {

class RespSession;

// One door's Redis protocol on one loop: a listener and the sessions behind it.
class RespServer {
 public:
  // `password` outlives the server.
  RespServer(net::Loop& loop, net::Fd listener, Engine& engine, LoopCounters& counters, DoorId id,
             const RespPassword& password, const net::ServerLimits& limits,
             net::Greeting greeting = {});
  ~RespServer();

  // No new connections; those that are open end with their next answers.
  void drain();
  // Ends the connections on which nothing is under way.
  void close_idle() { server_.close_idle(); }
  const net::Server& server() const { return server_; }
  // In the order of kBadStatuses, by the status that HTTP has for it: what was not the protocol,
  // wrong passwords, commands whose rest did not come.
  const BadRequests& bad_requests() const { return bad_; }

 private:
  friend class RespSession;

  struct Batch;

  void wake(Instant now);
  void finish(Batch& batch);
  void count_bad(int status);

  Engine& engine_;
  LoopCounters& counters_;
  const DoorId id_;
  const RespPassword& password_;
  Throttle throttle_;
  RespReader reader_;
  CheckCalls checks_;  // that are still to be asked; empty but for a session that is reading
  std::string error_;  // why the call that was read last cannot be asked
  Instant woken_ = Instant::min();
  std::uint64_t decided_in_wake_ = 0;
  std::uint64_t clients_ = 0;  // that have ever come
  BadRequests bad_{};
  bool draining_ = false;
  Pool<Batch> batches_;
  net::Server server_;  // last: its sessions use the rest
};

}  // namespace suimon::door
