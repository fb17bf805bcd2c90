#include "suimon/door/grpc/grpc_door.h"

#include <algorithm>
#include <utility>

#include "suimon/door/grpc/wire.h"

namespace suimon::door {
namespace {

constexpr std::string_view kRateLimitService = "envoy.service.ratelimit.v3.RateLimitService";

enum Method : int { kShouldRateLimit, kHealthCheck, kHealthWatch };

// How often readiness is looked at while somebody watches it.
constexpr Duration kLookEvery = std::chrono::seconds(1);
// A watch lasts as long as its client likes, so watches must leave room for the calls that decide.
constexpr std::size_t kMostWatches = 1024;

// The service that a grpc.health.v1.HealthCheckRequest names. False when it is none.
bool read_service(std::string_view message, std::string_view& service) {
  wire::Reader reader(message);
  wire::Field field;
  while (reader.next(field)) {
    if (field.number == 1 && field.type == wire::Type::bytes) service = field.bytes;
  }
  return reader.good();
}

bool is_known(std::string_view service) { return service.empty() || service == kRateLimitService; }

constexpr std::string_view kNoHealthRequest =
    "the message is no HealthCheckRequest of grpc.health.v1";

}  // namespace

// What is remembered of a request while its verdict is on the way.
struct GrpcDoor::Pending {
  GrpcDoor* door = nullptr;
  GrpcCall* call = nullptr;
  std::size_t descriptors = 0;
  bool names_domain = false;
  AcceptedLanguages languages;
};

GrpcDoor::GrpcDoor(const DoorParts& parts)
    : loop_(parts.loop),
      engine_(parts.engine),
      counters_(parts.counters),
      id_(parts.id),
      ready_(parts.ready),
      wall_(parts.wall) {
  loop_.on_wake_end([this] {
    if (decided_in_wake_ == 0) return;
    counters_.measured(id_, loop_.clock().now() - loop_.now(), decided_in_wake_);
    decided_in_wake_ = 0;
  });
}

GrpcDoor::~GrpcDoor() { loop_.timers().cancel(timer_); }

int GrpcDoor::method_of(std::string_view path) {
  if (path == "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit") {
    return kShouldRateLimit;
  }
  if (path == "/grpc.health.v1.Health/Check") return kHealthCheck;
  if (path == "/grpc.health.v1.Health/Watch") return kHealthWatch;
  return -1;
}

void GrpcDoor::handle(int method, std::string_view message, GrpcCall& call) {
  switch (method) {
    case kShouldRateLimit:
      return limit(message, call);
    case kHealthCheck:
      return check_health(message, call);
    default:
      return watch_health(message, call);
  }
}

void GrpcDoor::limit(std::string_view message, GrpcCall& call) {
  if (const auto read = request_.read(message); !read) {
    return call.fail(GrpcCode::invalid_argument, read.error().text);
  }
  const std::span<const Request> descriptors = request_.descriptors();
  Pending& pending = pendings_.take();
  pending.door = this;
  pending.call = &call;
  pending.descriptors = descriptors.size();
  pending.names_domain = !request_.domain().empty();
  pending.languages = request_.accept_language().empty()
                          ? AcceptedLanguages{}
                          : read_accept_language(request_.accept_language());
  ++decided_in_wake_;
  engine_.decide_together(descriptors, id_,
                          {[](void* context, std::span<const Verdict> verdicts) {
                             Pending& answered = *static_cast<Pending*>(context);
                             answered.door->answer(answered, verdicts.front());
                           },
                           &pending});
}

void GrpcDoor::answer(Pending& pending, const Verdict& verdict) {
  GrpcCall& call = *pending.call;
  pendings_.give_back(pending);  // its fields stay until it is taken again
  switch (verdict.status) {
    case Verdict::Status::decided:
      response_.append(verdict, pending.descriptors, pending.languages, wall_, call.message());
      return call.respond();
    case Verdict::Status::unknown_domain:
      if (!pending.names_domain) {
        return call.fail(GrpcCode::invalid_argument,
                         "domain: several are loaded, so the request must name one");
      }
      RlsResponse::append_allowed(pending.descriptors, call.message());
      return call.respond();
    case Verdict::Status::bad_path:
      response_.append_unreadable(pending.descriptors,
                                  "the path cannot be decoded; it must begin with / and have "
                                  "valid % escapes",
                                  call.message());
      return call.respond();
    case Verdict::Status::too_many_limits:
      return call.fail(GrpcCode::resource_exhausted, "more than 16 limits apply to this request");
    case Verdict::Status::store_failed:
      break;
  }
  call.fail(GrpcCode::unavailable, "the store did not answer");
}

GrpcDoor::Health GrpcDoor::health() const {
  const bool good = !draining_ && ready_.load(std::memory_order_acquire);
  return good ? Health::serving : Health::not_serving;
}

void GrpcDoor::check_health(std::string_view message, GrpcCall& call) {
  std::string_view service;
  if (!read_service(message, service)) {
    return call.fail(GrpcCode::invalid_argument, kNoHealthRequest);
  }
  if (!is_known(service)) {
    return call.fail(GrpcCode::not_found,
                     "there is no such service; name none, or " + std::string(kRateLimitService));
  }
  wire::append_number(1, static_cast<std::uint64_t>(health()), call.message());
  call.respond();
}

void GrpcDoor::watch_health(std::string_view message, GrpcCall& call) {
  std::string_view service;
  if (!read_service(message, service)) {
    return call.fail(GrpcCode::invalid_argument, kNoHealthRequest);
  }
  if (watches_.size() >= kMostWatches) {
    ++refused_watches_;
    return call.fail(GrpcCode::resource_exhausted, "1024 others are watching already");
  }
  // Of a service that may yet come the protocol wants the stream kept open.
  const Health now = is_known(service) ? health() : Health::service_unknown;
  wire::append_number(1, static_cast<std::uint64_t>(now), call.message());
  call.send();
  watches_.push_back({&call, now});
  if (timer_.number == 0) timer_ = loop_.timers().add(loop_.now() + kLookEvery, *this);
}

void GrpcDoor::gone(GrpcCall& call) {
  std::erase_if(watches_, [&](const Watch& watch) { return watch.call == &call; });
}

void GrpcDoor::tell_watchers() {
  const Health now = health();
  // By place: telling one may end its connection, and with it others.
  for (std::size_t i = watches_.size(); i-- > 0;) {
    if (i >= watches_.size()) continue;
    Watch& watch = watches_[i];
    if (watch.told == now || watch.told == Health::service_unknown) continue;
    watch.told = now;
    GrpcCall& call = *watch.call;
    wire::append_number(1, static_cast<std::uint64_t>(now), call.message());
    call.send();
  }
}

void GrpcDoor::on_timer(Instant now) {
  timer_ = {};
  tell_watchers();
  if (!watches_.empty()) timer_ = loop_.timers().add(now + kLookEvery, *this);
}

void GrpcDoor::drain() {
  draining_ = true;
  tell_watchers();
}

namespace {

class GrpcListener final : public Door {
 public:
  GrpcListener(const DoorParts& parts, net::Fd listener, const net::ServerLimits& limits,
               net::Greeting greeting)
      : door_(parts),
        server_(parts.loop, std::move(listener), door_, GrpcLimits{}, limits, std::move(greeting)) {
  }

  void drain() override {
    door_.drain();
    server_.drain();
  }
  void close_idle() override { server_.close_idle(); }
  const net::Server& server() const override { return server_.server(); }
  const BadRequests* bad_requests() const override { return &server_.bad_requests(); }
  std::uint64_t refused_calls() const override {
    return server_.refused_calls() + door_.refused_watches();
  }

 private:
  GrpcDoor door_;
  GrpcServer server_;  // after what handles its calls
};

}  // namespace

std::unique_ptr<Door> open_grpc(const DoorParts& parts, net::Fd listener,
                                const net::ServerLimits& limits, net::Greeting greeting) {
  return std::make_unique<GrpcListener>(parts, std::move(listener), limits, std::move(greeting));
}

}  // namespace suimon::door
