#include "apps/suimon/tls.h"

#include <fmt/chrono.h>
#include <spdlog/spdlog.h>

#include <ctime>

namespace suimon::app {

TlsSettings chosen_tls(const TlsSettings& flags, const TlsSettings& file) {
  const auto first = [](const std::string& a, const std::string& b) { return a.empty() ? b : a; };
  return {first(flags.cert, file.cert), first(flags.key, file.key),
          first(flags.client_ca, file.client_ca)};
}

Result<void> Certificates::read(const TlsSettings& file) {
  const TlsSettings chosen = chosen_tls(flags_, file);
  if (chosen.cert.empty() || chosen.key.empty()) {
    return failure("TLS needs a certificate and its key; write both --tls-cert and --tls-key");
  }
  auto tls = net::Tls::load({chosen.cert, chosen.key, chosen.client_ca});
  if (!tls) return tl::unexpected(tls.error());
  const std::time_t until = (*tls)->valid_until();
  if (until < std::time(nullptr)) {
    spdlog::warn("TLS certificate {} has expired on {:%Y-%m-%d}; clients will refuse it",
                 chosen.cert, fmt::gmtime(until));
  } else {
    spdlog::info("TLS certificate {} is valid until {:%Y-%m-%d}", chosen.cert, fmt::gmtime(until));
  }
  live_.install(std::move(*tls));
  return {};
}

Result<void> Certificates::start(const TlsSettings& file) {
  const TlsSettings chosen = chosen_tls(flags_, file);
  if (chosen.cert.empty() && chosen.key.empty() && chosen.client_ca.empty()) return {};
  auto done = read(file);
  on_ = done.has_value();
  return done;
}

void Certificates::reload(const TlsSettings& file) {
  if (!on_) {
    if (!file.cert.empty()) spdlog::warn("TLS begins with the next start of the daemon");
    return;
  }
  if (auto done = read(file); !done) {
    spdlog::error("{}; the running certificate stays", done.error().text);
  }
}

}  // namespace suimon::app
