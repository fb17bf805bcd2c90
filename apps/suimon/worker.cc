#include "apps/suimon/worker.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace suimon::app {
namespace {

constexpr std::string_view kHttp1 = "\x08http/1.1";  // as ALPN writes it

std::time_t unix_seconds() { return std::time(nullptr); }

const WallClock kWallClock;

}  // namespace

std::span<const std::string_view> listener_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const door::DoorKind& kind : door::registered_doors()) all.push_back(kind.name);
    all.emplace_back("admin");
    return all;
  }();
  return names;
}

Worker::Worker(const LivePolicy& policy, Store& store, LoopCounters& counters, Observer& observer,
               const Clock& clock, const std::atomic<bool>& ready, const TimeoutSettings& timeouts)
    : loop_(clock),
      counters_(counters),
      ready_(ready),
      timeouts_(timeouts),
      shared_store_(store),
      store_(store.on(loop_)),
      engine_(policy, store_, observer, clock) {
  loop_.on_wake_end([this] { count_connections(); });
}

Worker::~Worker() {
  stop();
  shared_store_.leave(loop_);
}

// Whether a connection of this peer begins with a PROXY header: when a domain that is loaded now
// says so and believes the peer.
bool Worker::is_proxied(const std::optional<Address>& peer) {
  const auto& rulesets = engine_.policy().rulesets;
  return std::any_of(rulesets.begin(), rulesets.end(), [&](const Ruleset& ruleset) {
    const ClientIpRule& rule = ruleset.client_ip;
    return rule.from == ClientIpRule::From::proxy_protocol && rule.trusts(peer);
  });
}

void Worker::open_door(DoorId id, net::Fd listener, std::size_t max_connections,
                       const net::LiveTls* tls, const door::RespPassword& resp_password) {
  const door::DoorKind& kind = door::registered_doors()[id];
  net::ServerLimits limits;
  limits.max_connections = max_connections;
  limits.header_timeout = timeouts_.header.value_or(limits.header_timeout);
  limits.idle_timeout = timeouts_.idle.value_or(limits.idle_timeout);
  net::Greeting greeting{{}, tls, kind.protocols};
  if (kind.proxied) {
    greeting.proxied = [this](const std::optional<Address>& peer) { return is_proxied(peer); };
  }
  doors_.resize(door::registered_doors().size());
  doors_[id] = kind.open({loop_, engine_, counters_, id, ready_, kWallClock, resp_password},
                         std::move(listener), limits, std::move(greeting));
}

void Worker::open_admin(net::Fd listener, door::AdminParts parts, std::size_t max_connections,
                        const net::LiveTls* tls) {
  net::ServerLimits limits;
  limits.max_connections = max_connections;
  limits.idle_timeout = std::chrono::seconds(20);
  admin_door_ = std::make_unique<door::AdminDoor>(loop_, std::move(parts));
  admin_ = std::make_unique<door::HttpServer>(loop_, std::move(listener), *admin_door_,
                                              door::HttpLimits{.body_bytes = std::size_t{64} << 10},
                                              limits, unix_seconds, net::Greeting{{}, tls, kHttp1});
}

void Worker::start() {
  thread_ = std::thread([this] { loop_.run(); });
}

void Worker::refresh_policy() {
  loop_.post([this] { engine_.policy(); });
}

void Worker::drain() {
  loop_.post([this] {
    for (const auto& door : doors_) {
      if (door) door->drain();
    }
    if (admin_) admin_->drain();
  });
}

void Worker::close_idle() {
  loop_.post([this] {
    for (const auto& door : doors_) {
      if (door) door->close_idle();
    }
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
  const auto count = [&](const net::Server& server, const BadRequests* bad, std::size_t listener) {
    ConnectionCounters& counters = counters_.connections(listener);
    counters.refused.set(server.refused());
    counters.timed_out.set(server.timed_out());
    counters.accept_failures.set(server.accept_failures());
    counters.handshake_failures.set(server.failed_greetings());
    for (std::size_t i = 0; bad != nullptr && i < bad->size(); ++i) {
      counters.bad_requests[i].set((*bad)[i]);
    }
    open += server.connections();
  };
  for (std::size_t id = 0; id < doors_.size(); ++id) {
    if (!doors_[id]) continue;
    count(doors_[id]->server(), doors_[id]->bad_requests(), id);
    counters_.connections(id).refused_calls.set(doors_[id]->refused_calls());
  }
  if (admin_) count(admin_->server(), &admin_->bad_requests(), door::registered_doors().size());
  connections_.store(open, std::memory_order_relaxed);
}

}  // namespace suimon::app
