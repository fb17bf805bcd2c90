// The daemon: the store, the policy in force, the loops that decide, and the main thread that
// waits for signals, reloads and ends it all.
//
// Thread rule: for the main thread; the hooks that it hands to the loops are for any.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "apps/suimon/commands.h"
#include "apps/suimon/reloader.h"
#include "apps/suimon/rotation.h"
#include "apps/suimon/throttle_tidier.h"
#include "apps/suimon/tls.h"
#include "apps/suimon/worker.h"
#include "suimon/net/address.h"
#include "suimon/observe/event_log.h"
#include "suimon/observe/metrics.h"

namespace suimon::app {

class Daemon {
 public:
  explicit Daemon(const ServeOptions& options)
      : options_(options), certificates_(options.flags.server.tls) {}

  // Serves until a signal ends it. The program's exit code; what went wrong is in the log.
  int run();

 private:
  int open();
  int start(Policy policy, const Hash128& loaded);
  int open_listeners();
  void add_deciding_workers();
  Result<void> open_door(DoorId id, const net::ListenAddress& address);
  Result<void> open_admin(const net::ListenAddress& address);
  // What a unix socket carries stays on this machine, so there it is always plain.
  const net::LiveTls* tls_of(const net::ListenAddress& address) const {
    return address.kind == net::ListenAddress::Kind::tcp ? certificates_.live() : nullptr;
  }
  Worker& add_worker(LoopCounters& counters, Observer& observer);
  bool ask_for_reload(door::Reloaded told);
  void refresh_policies();
  void reloaded();
  void on_signal(int number);
  void drain();

  const ServeOptions& options_;
  Settings settings_;  // flags, environment and file together
  BootClock clock_;
  Certificates certificates_;
  net::Loop loop_{clock_};  // of the main thread: signals, reloads, the end
  Rotation rotation_{loop_, [this] { refresh_policies(); }};
  Secrets secrets_;  // as they were at the start
  bool ending_ = false;
  bool at_once_ = false;  // nobody waits for clients any more
  std::atomic<bool> ready_{false};
  std::unique_ptr<Store> store_;
  std::unique_ptr<LivePolicy> policy_;
  std::unique_ptr<Metrics> metrics_;
  door::AdminTokens admin_tokens_;
  door::RespPassword resp_password_;
  std::unique_ptr<Reloader> reloader_;
  std::unique_ptr<EventLog> events_;  // none: refusals are not logged
  std::vector<std::unique_ptr<net::SocketFile>> socket_files_;
  std::vector<std::unique_ptr<Worker>> workers_;  // those that decide, and last the admin's
  std::unique_ptr<ThrottleTidier> throttle_tidier_;
  std::size_t deciding_ = 0;
  std::size_t open_doors_ = 1;
};

}  // namespace suimon::app
