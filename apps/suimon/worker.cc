#include "apps/suimon/worker.h"

#include <ctime>

namespace suimon::app {
namespace {

std::time_t unix_seconds() { return std::time(nullptr); }

}  // namespace

Worker::Worker(const LivePolicy& policy, Store& store, LoopCounters& counters, const Clock& clock,
               const std::atomic<bool>& ready)
    : loop_(clock), counters_(counters), ready_(ready), engine_(policy, store, counters, clock) {
  loop_.on_wake_end([this] { count_connections(); });
}

Worker::~Worker() { stop(); }

void Worker::open_http(net::Fd listener, std::size_t max_connections) {
  net::ServerLimits limits;
  limits.max_connections = max_connections;
  http_door_ = std::make_unique<door::HttpDoor>(loop_, engine_, counters_, kHttpDoor, ready_);
  http_ = std::make_unique<door::HttpServer>(loop_, std::move(listener), *http_door_,
                                             door::HttpLimits{}, limits, unix_seconds);
}

void Worker::open_admin(net::Fd listener, door::AdminParts parts) {
  constexpr std::size_t kFew = 256;  // operators and scrapers
  net::ServerLimits limits;
  limits.max_connections = kFew;
  limits.idle_timeout = std::chrono::seconds(20);
  admin_door_ = std::make_unique<door::AdminDoor>(loop_, std::move(parts));
  admin_ = std::make_unique<door::HttpServer>(loop_, std::move(listener), *admin_door_,
                                              door::HttpLimits{.body_bytes = std::size_t{64} << 10},
                                              limits, unix_seconds);
}

void Worker::start() {
  thread_ = std::thread([this] { loop_.run(); });
}

void Worker::drain() {
  loop_.post([this] {
    if (http_) http_->drain();
    if (admin_) admin_->drain();
  });
}

void Worker::close_idle() {
  loop_.post([this] {
    if (http_) http_->close_idle();
    if (admin_) admin_->close_idle();
  });
}

void Worker::stop() {
  if (!thread_.joinable()) return;
  loop_.stop();
  thread_.join();
}

void Worker::count_connections() {
  std::size_t open = 0;
  const auto count = [&](door::HttpServer* http, std::size_t listener) {
    if (http == nullptr) return;
    const net::Server& server = http->server();
    ConnectionCounters& counters = counters_.connections(listener);
    counters.refused.set(server.refused());
    counters.timed_out.set(server.timed_out());
    counters.accept_failures.set(server.accept_failures());
    open += server.connections();
  };
  count(http_.get(), kHttpDoor);
  count(admin_.get(), kAdmin);
  connections_.store(open, std::memory_order_relaxed);
}

}  // namespace suimon::app
