// One event loop with its thread, engine and doors. The admin door has a loop of its own: nothing
// that happens there holds up a decision.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "suimon/door/admin_door.h"
#include "suimon/door/doors.h"
#include "suimon/engine/engine.h"
#include "suimon/net/loop.h"
#include "suimon/observe/counters.h"

namespace suimon::app {

// The listeners, by the names that metrics show: the doors in the order of their list, which is
// that of their DoorIds, and last the operators'.
std::span<const std::string_view> listener_names();

class Worker {
 public:
  Worker(const LivePolicy& policy, Store& store, LoopCounters& counters, Observer& observer,
         const Clock& clock, const std::atomic<bool>& ready, const TimeoutSettings& timeouts);
  ~Worker();

  // The store as this loop uses it.
  Store& store() { return store_; }

  // Before start(). `tls` may be null: plain.
  void open_door(DoorId id, net::Fd listener, std::size_t max_connections, const net::LiveTls* tls,
                 const door::RespPassword& resp_password);
  void open_admin(net::Fd listener, door::AdminParts parts, std::size_t max_connections,
                  const net::LiveTls* tls);

  void start();
  // Has `work` run between two calls of a door; false when too much waits. Any thread.
  bool post(std::function<void()> work) { return loop_.post(std::move(work)); }
  // Takes up the policy in force, also when no request comes. Any thread.
  void refresh_policy();
  // No new connections; what comes on the open ones is answered as their last. Any thread.
  void drain();
  // Ends the connections on which nothing is under way. Any thread.
  void close_idle();
  // Ends the loop and its thread. Any thread but its own.
  void stop();
  // Open connections, as of a moment ago. Any thread.
  std::size_t connections() const { return connections_.load(std::memory_order_relaxed); }

 private:
  void count_connections();
  bool is_proxied(const std::optional<Address>& peer);

  net::Loop loop_;
  LoopCounters& counters_;
  const std::atomic<bool>& ready_;
  const TimeoutSettings timeouts_;
  Store& shared_store_;
  Store& store_;  // as this loop uses it
  Engine engine_;
  std::vector<std::unique_ptr<door::Door>> doors_;  // by DoorId; null where one is off
  std::unique_ptr<door::AdminDoor> admin_door_;
  std::unique_ptr<door::HttpServer> admin_;
  std::atomic<std::size_t> connections_{0};
  std::thread thread_;
};

}  // namespace suimon::app
