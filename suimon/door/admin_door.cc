#include "suimon/door/admin_door.h"

namespace suimon::door {
namespace {

constexpr std::string_view kText = "Content-Type: text/plain\r\nCache-Control: no-store\r\n";

}  // namespace

void AdminDoor::handle(const HttpRequest& request, const std::optional<Address>&,
                       Exchange& exchange) {
  const std::string_view path = request.path();
  const bool known = path == "/metrics" || path == "/healthz" || path == "/readyz";
  if (!known) {
    return exchange.refuse(404, kText, "the paths here are /metrics, /healthz and /readyz\n");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return exchange.refuse(405, std::string("Allow: GET, HEAD\r\n").append(kText),
                           "use GET or HEAD\n");
  }
  if (path == "/metrics") {
    return exchange.respond(
        200,
        "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nCache-Control: no-store\r\n",
        metrics_());
  }
  const bool good = path == "/healthz" || ready_.load(std::memory_order_acquire);
  exchange.respond(good ? 200 : 503, kText, good ? "ok\n" : "not ready\n");
}

void AdminDoor::append_error(int, std::string_view reason, std::string& lines, std::string& body) {
  lines += kText;
  body.append(reason).append("\n");
}

}  // namespace suimon::door
