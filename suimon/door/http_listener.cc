#include "suimon/door/http_listener.h"

#include <ctime>
#include <utility>

#include "suimon/door/http_door.h"

namespace suimon::door {
namespace {

class HttpListener final : public Door {
 public:
  HttpListener(const DoorParts& parts, net::Fd listener, const net::ServerLimits& limits,
               net::Greeting greeting)
      : door_(parts.loop, parts.engine, parts.counters, parts.id, parts.ready, parts.wall),
        http_(
            parts.loop, std::move(listener), door_, HttpLimits{}, limits,
            [] { return std::time(nullptr); }, std::move(greeting)) {}

  void drain() override { http_.drain(); }
  void close_idle() override { http_.close_idle(); }
  const net::Server& server() const override { return http_.server(); }
  const BadRequests* bad_requests() const override { return &http_.bad_requests(); }

 private:
  HttpDoor door_;
  HttpServer http_;  // after what handles its requests
};

}  // namespace

std::unique_ptr<Door> open_http(const DoorParts& parts, net::Fd listener,
                                const net::ServerLimits& limits, net::Greeting greeting) {
  return std::make_unique<HttpListener>(parts, std::move(listener), limits, std::move(greeting));
}

}  // namespace suimon::door
