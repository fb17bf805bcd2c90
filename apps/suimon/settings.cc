#include "apps/suimon/settings.h"

#include "apps/suimon/tls.h"
#include "suimon/door/doors.h"
#include "suimon/engine/policy_changes.h"
#include "suimon/net/address.h"
#include "suimon/net/server.h"
#include "suimon/store/stores.h"

namespace suimon::app {
namespace {

template <class Value>
void choose(const std::optional<Value>& flag, std::optional<Value>& setting) {
  if (flag) setting = flag;
}
void choose(const std::string& flag, std::string& setting) {
  if (!flag.empty()) setting = flag;
}

template <class Value>
void otherwise(std::optional<Value>& setting, Value by_default) {
  if (!setting) setting = std::move(by_default);
}

void fill_in_defaults(Settings& all) {
  const net::ServerLimits limits;
  for (const door::DoorKind& kind : door::registered_doors()) {
    otherwise(all.server.*kind.address, std::string(kind.by_default));
  }
  otherwise<std::string>(all.server.admin, "127.0.0.1:9090");
  otherwise(all.server.threads, 0U);
  otherwise(all.server.timeouts.header, limits.header_timeout);
  otherwise(all.server.timeouts.idle, limits.idle_timeout);
  otherwise<Duration>(all.server.timeouts.drain, std::chrono::seconds(10));
  otherwise<std::string>(all.store.url, "memory://?max_keys=1000000");
  otherwise(all.store.when_full, WhenFull::share);
  otherwise<std::string>(all.log.events, "off");
  if (all.log.events == "") all.log.events = "off";
  otherwise(all.log.identify, Identify::none);
  otherwise<std::uint64_t>(all.log.per_second, 100);
}

}  // namespace

Settings chosen(const Settings& flags, const Settings& file) {
  Settings all = file;
  for (const door::DoorKind& kind : door::registered_doors()) {
    choose(flags.server.*kind.address, all.server.*kind.address);
  }
  choose(flags.server.admin, all.server.admin);
  choose(flags.server.threads, all.server.threads);
  all.server.tls = chosen_tls(flags.server.tls, file.server.tls);
  choose(flags.server.timeouts.header, all.server.timeouts.header);
  choose(flags.server.timeouts.idle, all.server.timeouts.idle);
  choose(flags.server.timeouts.drain, all.server.timeouts.drain);
  choose(flags.server.admin_token_file, all.server.admin_token_file);
  choose(flags.server.resp_password_file, all.server.resp_password_file);
  choose(flags.store.url, all.store.url);
  choose(flags.store.password_file, all.store.password_file);
  choose(flags.store.secret_file, all.store.secret_file);
  choose(flags.store.previous_secret_file, all.store.previous_secret_file);
  choose(flags.store.when_full, all.store.when_full);
  choose(flags.log.events, all.log.events);
  choose(flags.log.identify, all.log.identify);
  choose(flags.log.per_second, all.log.per_second);
  fill_in_defaults(all);
  return all;
}

Result<void> readable(const Settings& settings) {
  const auto is_readable = [&](std::string_view name,
                               const std::optional<std::string>& address) -> Result<void> {
    if (!address) return {};
    const auto read = net::parse_listen_address(*address);
    if (read) return {};
    return failure("server: {" + std::string(name) + ": ...}: " + read.error().text);
  };
  for (const door::DoorKind& kind : door::registered_doors()) {
    if (auto read = is_readable(kind.name, settings.server.*kind.address); !read) return read;
  }
  if (auto read = is_readable("admin", settings.server.admin); !read) return read;
  return settings.store.url ? check_store_url(*settings.store.url) : Result<void>{};
}

std::vector<std::string> waiting_for_restart(const Settings& started, Settings now) {
  const auto whole = [](const TlsSettings& tls) { return !tls.cert.empty() && !tls.key.empty(); };
  // Certificates are read again at each reload, wherever they are then.
  if (whole(started.server.tls) && whole(now.server.tls)) now.server.tls = started.server.tls;
  // So are the secrets.
  now.store.secret_file = started.store.secret_file;
  now.store.previous_secret_file = started.store.previous_secret_file;
  return changed_settings(started, now);
}

}  // namespace suimon::app
