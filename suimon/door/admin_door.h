// The admin listener: metrics and health, for operators and not for clients.
//
//   GET /metrics, /healthz, /readyz
//
// Thread rule: on its loop's thread; what it shows is read from all of them.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "suimon/door/http_session.h"

namespace suimon::door {

class AdminDoor final : public HttpHandler {
 public:
  AdminDoor(std::function<std::string()> metrics, const std::atomic<bool>& ready)
      : metrics_(std::move(metrics)), ready_(ready) {}

  void handle(const HttpRequest& request, const std::optional<Address>& peer,
              Exchange& exchange) override;
  void append_error(int status, std::string_view reason, std::string& lines,
                    std::string& body) override;

 private:
  std::function<std::string()> metrics_;
  const std::atomic<bool>& ready_;
};

}  // namespace suimon::door
