#include "apps/suimon/daemon.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <system_error>
#include <thread>

#include "apps/suimon/events.h"
#include "apps/suimon/fingerprint.h"
#include "apps/suimon/load.h"
#include "apps/suimon/log.h"
#include "apps/suimon/notify.h"
#include "apps/suimon/private_file.h"
#include "apps/suimon/reload_answer.h"
#include "apps/suimon/secret.h"
#include "apps/suimon/settings.h"
#include "apps/suimon/signals.h"
#include "apps/suimon/token_file.h"
#include "suimon/store/stores.h"

namespace suimon::app {
namespace {

// So long a client that keeps its connection may still send a request, which is then answered with
// "Connection: close"; after it, idle connections are ended.
constexpr Duration kIdleGrace = std::chrono::milliseconds(500);

// How many connections each door of a loop and the admin listener may hold.
struct Places {
  std::size_t door;
  std::size_t admin;
};

// Raises the limit on descriptors and divides them: whoever fills one listener leaves the others
// theirs.
Places places_of(std::size_t threads, std::size_t doors) {
  constexpr std::size_t kOperators = 256;     // and scrapers
  const std::size_t kept = 64 + 4 * threads;  // for loops, listeners, files and a store
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::size_t most = limit.rlim_cur > 2 * kept ? limit.rlim_cur - kept : limit.rlim_cur / 4;
  const std::size_t admin = std::clamp<std::size_t>(most / 8, 4, kOperators);
  const std::size_t rest = most - std::min(most, admin);
  return {std::clamp<std::size_t>(rest / (threads * doors), 4, net::ServerLimits{}.max_connections),
          admin};
}

int complain(int code, std::string_view text) {
  spdlog::error("{}", text);
  return code;
}

}  // namespace

int Daemon::run() {
  keep_memory_private();
  const Hash128 loaded = content_fingerprint(options_.config);
  auto policy = load_or_explain(options_.config);
  if (!policy) return kWrongUsage;
  settings_ = chosen(options_.flags, policy->settings);
  // Before the first thread, so that all of them leave the signals to this one.
  std::signal(SIGPIPE, SIG_IGN);
  const Signals signals(loop_, {SIGTERM, SIGINT, SIGHUP},
                        [this](int number) { on_signal(number); });
  set_up_log();
  if (!signals) return complain(kFailed, "the system refuses a signalfd");
  if (const int code = start(std::move(*policy), loaded); code != kGood) return code;
  loop_.run();
  reloader_->close();
  drain();
  for (const auto& worker : workers_) worker->stop();
  if (events_) events_->stop();
  spdlog::info("stopped");
  return kGood;
}

// Opens all that the settings name, and serves from then on.
int Daemon::start(Policy policy, const Hash128& loaded) {
  if (const int code = open(); code != kGood) return code;
  reloader_ = std::make_unique<Reloader>(
      loop_, options_.config, loaded,
      [this](const Settings& file) {
        if (const auto read = readable(file); !read) {
          spdlog::error("{}; a restart would fail", read.error().text);
        }
        return waiting_for_restart(settings_, chosen(options_.flags, file));
      },
      [this](const Settings& file) { return rotation_.read(chosen(options_.flags, file).store); },
      *policy_, *metrics_, [this] { reloaded(); });
  const auto installed = policy_->install(std::move(policy), clock_.now(), secrets_);
  if (!installed) {
    return complain(kWrongUsage, options_.config + ": " + installed.error().text);
  }
  metrics_->reloaded(true, std::time(nullptr));
  if (policy_->is_rotating()) rotation_.follow(*policy_);
  if (const int code = open_listeners(); code != kGood) return code;
  reloader_->watch();
  try {
    for (const auto& worker : workers_) worker->start();
    if (events_) events_->start();
  } catch (const std::system_error& error) {  // std::thread knows no other way
    return complain(kFailed,
                    fmt::format("{} threads cannot be started: {}; write fewer --threads, or allow "
                                "more memory and processes (ulimit -v, -u)",
                                workers_.size(), error.code().message()));
  }
  throttle_tidier_ = std::make_unique<ThrottleTidier>(loop_, policy_->throttles(),
                                                      std::span(workers_).first(deciding_));
  ready_.store(true, std::memory_order_release);
  spdlog::info("ready: {} limit{} from {}, {} thread{}", installed->added.size(),
               installed->added.size() == 1 ? "" : "s", options_.config, deciding_,
               deciding_ == 1 ? "" : "s");
  notify_ready();
  return kGood;
}

int Daemon::open() {
  auto password = load_password(settings_.store.password_file);
  if (!password) return complain(kWrongUsage, password.error().text);
  // NOLINTBEGIN(bugprone-unchecked-optional-access): fill_in_defaults() left nothing out
  const std::string& url = *settings_.store.url;
  const WhenFull when_full = *settings_.store.when_full;
  // NOLINTEND(bugprone-unchecked-optional-access)
  if (const StoreKind* kind = find_store(url);
      kind != nullptr && !kind->remote && !password->empty()) {
    spdlog::warn("{}:// asks for no password, so the password file does nothing", kind->scheme);
  }
  auto store = open_store(
      url, {when_full, *password, [](std::string_view text) { spdlog::warn("{}", text); }});
  if (!store) return complain(kWrongUsage, store.error().text);
  auto secrets = rotation_.start(settings_.store);
  if (!secrets) return complain(kWrongUsage, secrets.error().text);
  auto tokens = load_admin_tokens(settings_.server.admin_token_file);
  if (!tokens) return complain(kWrongUsage, tokens.error().text);
  const auto resp_password = load_password(settings_.server.resp_password_file);
  if (!resp_password) return complain(kWrongUsage, resp_password.error().text);
  auto events = open_event_log(settings_.log, clock_);
  if (!events) return complain(kWrongUsage, events.error().text);
  if (auto read = certificates_.start(settings_.server.tls); !read) {
    return complain(kWrongUsage, read.error().text);
  }
  store_ = std::move(*store);
  admin_tokens_ = std::move(*tokens);
  if (!resp_password->empty()) resp_password_ = door::RespPassword(*resp_password);
  events_ = std::move(*events);
  policy_ = std::make_unique<LivePolicy>(*store_, secrets->current);
  secrets_ = *secrets;
  metrics_ = std::make_unique<Metrics>(*policy_, *store_, listener_names(),
                                       door::registered_doors().size(), SUIMON_VERSION);
  return kGood;
}

Worker& Daemon::add_worker(LoopCounters& counters, Observer& observer) {
  return *workers_.emplace_back(std::make_unique<Worker>(
      *policy_, *store_, counters, observer, clock_, ready_, settings_.server.timeouts));
}

int Daemon::open_listeners() {
  const auto address_of =
      [&](std::string_view name,
          std::optional<std::string> ServerSettings::* in) -> Result<net::ListenAddress> {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): fill_in_defaults() left nothing out
    auto address = net::parse_listen_address(*(settings_.server.*in));
    if (address) return address;
    const bool flag = (options_.flags.server.*in).has_value();
    return failure(fmt::format("{}{}: {}", flag ? "--" : "server.", name, address.error().text));
  };
  // All are read before the first is opened.
  std::vector<net::ListenAddress> addresses;
  for (const door::DoorKind& kind : door::registered_doors()) {
    const auto address = address_of(kind.name, kind.address);
    if (!address) return complain(kWrongUsage, address.error().text);
    addresses.push_back(*address);
  }
  const auto admin = address_of("admin", &ServerSettings::admin);
  if (!admin) return complain(kWrongUsage, admin.error().text);
  const auto is_off = [](const net::ListenAddress& address) {
    return address.kind == net::ListenAddress::Kind::off;
  };
  const auto off = std::count_if(addresses.begin(), addresses.end(), is_off);
  if (addresses.size() == static_cast<std::size_t>(off)) {
    spdlog::warn("every door is off: nobody can ask for a decision");
  }
  open_doors_ = std::max<std::size_t>(1, addresses.size() - static_cast<std::size_t>(off));
  add_deciding_workers();
  for (std::size_t id = 0; id < addresses.size(); ++id) {
    if (is_off(addresses[id])) continue;
    if (auto opened = open_door(static_cast<DoorId>(id), addresses[id]); !opened) {
      return complain(
          kFailed, fmt::format("{}: {}", door::registered_doors()[id].name, opened.error().text));
    }
  }
  if (!is_off(*admin)) {
    if (auto opened = open_admin(*admin); !opened) {
      return complain(kFailed, "admin: " + opened.error().text);
    }
  }
  return kGood;
}

void Daemon::add_deciding_workers() {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): fill_in_defaults() left nothing out
  unsigned threads = *settings_.server.threads;
  if (threads == 0) threads = std::thread::hardware_concurrency();
  threads = std::clamp(threads, 1U, 256U);
  for (; deciding_ < threads; ++deciding_) {
    LoopCounters& counters = metrics_->add_loop();
    add_worker(counters, events_ ? static_cast<Observer&>(events_->add_loop(counters)) : counters);
  }
}

Result<void> Daemon::open_admin(const net::ListenAddress& address) {
  auto listener = net::open_listener(address, /*reuse_port=*/false);
  if (!listener) return tl::unexpected(listener.error());
  const net::LiveTls* const tls = tls_of(address);
  spdlog::info("admin listens on {}{}", net::bound_address(*listener), tls ? " with TLS" : "");
  socket_files_.push_back(std::make_unique<net::SocketFile>(address));
  LoopCounters& counters = metrics_->add_loop();
  Worker& worker = add_worker(counters, counters);
  worker.open_admin(
      std::move(*listener),
      {.policy = *policy_,
       .store = worker.store(),
       .metrics = *metrics_,
       .ready = ready_,
       .tokens = std::move(admin_tokens_),
       .more_metrics = [this] { return event_metrics(events_.get()) + dropped_lines(); },
       .reload = [this](door::Reloaded told) { return ask_for_reload(std::move(told)); },
       .audit = [](std::string_view line) { spdlog::info("audit {}", line); },
       .unix_seconds = [] { return std::time(nullptr); }},
      places_of(deciding_, open_doors_).admin, tls);
  return {};
}

// A TCP port is shared by one listener a loop; a unix socket is one listener for all.
Result<void> Daemon::open_door(DoorId id, const net::ListenAddress& address) {
  const bool tcp = address.kind == net::ListenAddress::Kind::tcp;
  const std::size_t places = places_of(workers_.size(), open_doors_).door;
  // Without this a second daemon on the same port would take half of the requests in silence.
  if (tcp && address.port != 0) {
    if (auto probe = net::open_listener(address, /*reuse_port=*/false); !probe) {
      return tl::unexpected(probe.error());
    }
  }
  auto first = net::open_listener(address, tcp);
  if (!first) return tl::unexpected(first.error());
  const std::string bound = net::bound_address(*first);
  const net::LiveTls* const tls = tls_of(address);
  spdlog::info("{} listens on {}{}", door::registered_doors()[id].name, bound,
               tls ? " with TLS" : "");
  if (!tcp) socket_files_.push_back(std::make_unique<net::SocketFile>(address));
  const auto chosen_port =
      tcp ? net::parse_listen_address(bound) : Result<net::ListenAddress>(address);
  if (!chosen_port) return tl::unexpected(chosen_port.error());
  for (std::size_t i = 1; i < workers_.size(); ++i) {
    auto next = tcp ? net::open_listener(*chosen_port, true) : net::share(*first);
    if (!next) return tl::unexpected(next.error());
    workers_[i]->open_door(id, std::move(*next), places, tls, resp_password_);
  }
  workers_.front()->open_door(id, std::move(*first), places, tls, resp_password_);
  return {};
}

// For the admin door, on its thread.
bool Daemon::ask_for_reload(door::Reloaded told) {
  return reloader_->request(
      [told = std::move(told)](const Reloaded& done) { told(reload_answer(done)); });
}

void Daemon::refresh_policies() {
  for (const auto& worker : workers_) worker->refresh_policy();
}

// After each reload, good or bad.
void Daemon::reloaded() {
  refresh_policies();
  rotation_.follow(*policy_);
  if (events_) events_->reopen();
  certificates_.reload(policy_->current()->settings.server.tls);
}

void Daemon::on_signal(int number) {
  if (number == SIGHUP) {
    if (reloader_) reloader_->request([](const Reloaded&) {});
  } else if (!ending_) {
    ending_ = true;
    loop_.stop();
  } else {
    at_once_ = true;
  }
}

// Answers what is under way and lets the clients go; a second signal or the end of the grace
// period ends it at once.
void Daemon::drain() {
  ready_.store(false, std::memory_order_release);
  spdlog::info("draining: no new connections");
  notify_stopping();
  for (const auto& worker : workers_) worker->drain();
  constexpr int kStepMs = 20;
  const Instant begin = clock_.now();
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): fill_in_defaults() left nothing out
  const Instant end = begin + *settings_.server.timeouts.drain;
  for (;;) {
    loop_.poll_once(kStepMs);
    if (clock_.now() >= begin + kIdleGrace) {
      for (const auto& worker : workers_) worker->close_idle();
    }
    const bool any_open = std::any_of(workers_.begin(), workers_.end(), [](const auto& worker) {
      return worker->connections() != 0;
    });
    if (!any_open) return;
    if (at_once_ || clock_.now() >= end) {
      spdlog::warn("closing connections that were still open");
      return;
    }
  }
}

}  // namespace suimon::app
