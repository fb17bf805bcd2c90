// suimon serve: the daemon.
#include <fmt/core.h>
#include <spdlog/async.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <future>
#include <thread>

#include "apps/suimon/commands.h"
#include "apps/suimon/events.h"
#include "apps/suimon/fingerprint.h"
#include "apps/suimon/load.h"
#include "apps/suimon/notify.h"
#include "apps/suimon/reloader.h"
#include "apps/suimon/secret.h"
#include "apps/suimon/signals.h"
#include "apps/suimon/tls.h"
#include "apps/suimon/worker.h"
#include "suimon/net/address.h"
#include "suimon/observe/metrics.h"
#include "suimon/store/stores.h"

namespace suimon::app {
namespace {

constexpr Duration kDrainGrace = std::chrono::seconds(10);
// So long a client that keeps its connection may still send a request, which is then answered with
// "Connection: close"; after it, idle connections are ended.
constexpr Duration kIdleGrace = std::chrono::milliseconds(500);

// Lines go out on a thread of their own: a standard error that nobody reads any more must not keep
// the daemon from its signals. The oldest of kMostLines waiting lines makes room for the newest.
void set_up_log() {
  constexpr std::size_t kMostLines = 1024;
  spdlog::init_thread_pool(kMostLines, 1);
  auto log = std::make_shared<spdlog::async_logger>(
      "suimon", std::make_shared<spdlog::sinks::stderr_color_sink_mt>(), spdlog::thread_pool(),
      spdlog::async_overflow_policy::overrun_oldest);
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %v", spdlog::pattern_time_type::utc);
  spdlog::set_default_logger(log);
}

// How many lines made room for newer ones, as a metric.
std::string dropped_lines() {
  return fmt::format(
      "# HELP suimon_log_lines_dropped_total Lines that nobody read in time.\n"
      "# TYPE suimon_log_lines_dropped_total counter\nsuimon_log_lines_dropped_total {}\n",
      spdlog::thread_pool()->overrun_counter());
}

// Writes the last lines, and ends the process if nobody reads them within a second.
void close_log(int code) {
  std::packaged_task<void()> last_lines(spdlog::shutdown);
  auto written = last_lines.get_future();
  std::thread(std::move(last_lines)).detach();
  if (written.wait_for(std::chrono::seconds(1)) != std::future_status::ready) std::_Exit(code);
}

Result<Secret> secret_for(const ServeOptions& options) {
  if (!options.secret_file.empty()) return load_or_make_secret(options.secret_file);
  const std::string path = default_secret_path();
  auto secret =
      path.empty() ? failure("neither STATE_DIRECTORY nor HOME is set") : load_or_make_secret(path);
  if (secret) return secret;
  // State in memory ends with the process anyway, so a secret that ends with it will do.
  spdlog::warn("{}; hashing under a secret for this run only", secret.error().text);
  return random_secret();
}

// Raises the limit on descriptors and says how many connections each loop may hold.
std::size_t places_per_loop(std::size_t threads) {
  const std::size_t kept = 64 + 4 * threads;  // for loops, listeners, files and a store
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::size_t most = limit.rlim_cur > 2 * kept ? limit.rlim_cur - kept : limit.rlim_cur / 4;
  return std::clamp<std::size_t>(most / threads, 4, net::ServerLimits{}.max_connections);
}

class Daemon {
 public:
  explicit Daemon(const ServeOptions& options) : options_(options), certificates_(options.tls) {}

  int run();

 private:
  int open_listeners();
  Result<void> open_http(const net::ListenAddress& address);
  // What a unix socket carries stays on this machine, so there it is always plain.
  const net::LiveTls* tls_of(const net::ListenAddress& address) const {
    return address.kind == net::ListenAddress::Kind::tcp ? certificates_.live() : nullptr;
  }
  void reloaded();
  void on_signal(int number);
  void drain();

  const ServeOptions& options_;
  BootClock clock_;
  Certificates certificates_;
  net::Loop loop_{clock_};  // of the main thread: signals, reloads, the end
  bool ending_ = false;
  bool at_once_ = false;  // nobody waits for clients any more
  std::atomic<bool> ready_{false};
  std::unique_ptr<Store> store_;
  std::unique_ptr<LivePolicy> policy_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<Reloader> reloader_;
  std::unique_ptr<EventLog> events_;  // none: refusals are not logged
  std::vector<std::unique_ptr<net::SocketFile>> socket_files_;
  std::vector<std::unique_ptr<Worker>> workers_;  // those that decide, and last the admin's
  std::size_t deciding_ = 0;
};

int Daemon::run() {
  keep_memory_private();
  const Hash128 loaded = content_fingerprint(options_.config);
  auto policy = load_or_explain(options_.config);
  if (!policy) return kWrongUsage;
  // Before the first thread, so that all of them leave the signals to this one.
  std::signal(SIGPIPE, SIG_IGN);
  const Signals signals(loop_, {SIGTERM, SIGINT, SIGHUP},
                        [this](int number) { on_signal(number); });
  set_up_log();
  if (!signals) {
    spdlog::error("the system refuses a signalfd");
    return kFailed;
  }
  auto store = open_store(options_.store);
  if (!store) {
    spdlog::error("{}", store.error().text);
    return kWrongUsage;
  }
  const auto secret = secret_for(options_);
  if (!secret) {
    spdlog::error("{}", secret.error().text);
    return kWrongUsage;
  }
  store_ = std::move(*store);
  policy_ = std::make_unique<LivePolicy>(*store_, *secret);
  metrics_ = std::make_unique<Metrics>(*policy_, *store_, kListenerNames, kDoors, SUIMON_VERSION);
  auto events = open_event_log(options_, policy->settings.log, clock_);
  if (!events) {
    spdlog::error("{}", events.error().text);
    return kWrongUsage;
  }
  events_ = std::move(*events);
  reloader_ = std::make_unique<Reloader>(loop_, options_.config, loaded, policy->settings, *policy_,
                                         *metrics_, [this] { reloaded(); });
  const auto installed = policy_->install(std::move(*policy), clock_.now());
  if (!installed) {
    spdlog::error("{}: {}", options_.config, installed.error().text);
    return kWrongUsage;
  }
  metrics_->reloaded(true, std::time(nullptr));
  if (auto read = certificates_.start(policy_->current()->settings.server.tls); !read) {
    spdlog::error("{}", read.error().text);
    return kWrongUsage;
  }
  if (const int code = open_listeners(); code != kGood) return code;
  reloader_->watch();
  for (const auto& worker : workers_) worker->start();
  if (events_) events_->start();
  ready_.store(true, std::memory_order_release);
  spdlog::info("ready: {} limit{} from {}, {} thread{}", installed->added.size(),
               installed->added.size() == 1 ? "" : "s", options_.config, deciding_,
               deciding_ == 1 ? "" : "s");
  notify_ready();

  loop_.run();
  reloader_->close();
  drain();
  for (const auto& worker : workers_) worker->stop();
  if (events_) events_->stop();
  spdlog::info("stopped");
  return kGood;
}

int Daemon::open_listeners() {
  const auto http = net::parse_listen_address(options_.http);
  const auto admin = net::parse_listen_address(options_.admin);
  for (const auto& [flag, address] : {std::pair("--http", &http), std::pair("--admin", &admin)}) {
    if (*address) continue;
    spdlog::error("{}: {}", flag, address->error().text);
    return kWrongUsage;
  }
  if (http->kind == net::ListenAddress::Kind::off) {
    spdlog::warn("--http is off: nobody can ask for a decision");
  }
  unsigned threads = options_.threads != 0 ? options_.threads : std::thread::hardware_concurrency();
  threads = std::clamp(threads, 1U, 256U);
  const auto add_worker = [this](LoopCounters& counters, Observer& observer) -> Worker& {
    return *workers_.emplace_back(
        std::make_unique<Worker>(*policy_, *store_, counters, observer, clock_, ready_));
  };
  for (; deciding_ < threads; ++deciding_) {
    LoopCounters& counters = metrics_->add_loop();
    add_worker(counters, events_ ? static_cast<Observer&>(events_->add_loop(counters)) : counters);
  }
  if (http->kind != net::ListenAddress::Kind::off) {
    if (auto opened = open_http(*http); !opened) {
      spdlog::error("http: {}", opened.error().text);
      return kFailed;
    }
  }
  if (admin->kind != net::ListenAddress::Kind::off) {
    auto listener = net::open_listener(*admin, /*reuse_port=*/false);
    if (!listener) {
      spdlog::error("admin: {}", listener.error().text);
      return kFailed;
    }
    const net::LiveTls* const tls = tls_of(*admin);
    spdlog::info("admin listens on {}{}", net::bound_address(*listener), tls ? " with TLS" : "");
    socket_files_.push_back(std::make_unique<net::SocketFile>(*admin));
    // A loop of its own: a large page of metrics must not make decisions wait.
    LoopCounters& counters = metrics_->add_loop();
    add_worker(counters, counters)
        .open_admin(
            std::move(*listener),
            [this] { return metrics_->render() + event_metrics(events_.get()) + dropped_lines(); },
            tls);
  }
  return kGood;
}

// A TCP port is shared by one listener a loop; a unix socket is one listener for all.
Result<void> Daemon::open_http(const net::ListenAddress& address) {
  const bool tcp = address.kind == net::ListenAddress::Kind::tcp;
  const std::size_t places = places_per_loop(workers_.size());
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
  spdlog::info("http listens on {}{}", bound, tls ? " with TLS" : "");
  if (!tcp) socket_files_.push_back(std::make_unique<net::SocketFile>(address));
  const auto chosen = tcp ? net::parse_listen_address(bound) : Result<net::ListenAddress>(address);
  if (!chosen) return tl::unexpected(chosen.error());
  for (std::size_t i = 1; i < workers_.size(); ++i) {
    auto next = tcp ? net::open_listener(*chosen, true) : net::share(*first);
    if (!next) return tl::unexpected(next.error());
    workers_[i]->open_http(std::move(*next), places, tls);
  }
  workers_.front()->open_http(std::move(*first), places, tls);
  return {};
}

// After each reload, good or bad.
void Daemon::reloaded() {
  for (const auto& worker : workers_) worker->refresh_policy();
  if (events_) events_->reopen();
  certificates_.reload(policy_->current()->settings.server.tls);
}

void Daemon::on_signal(int number) {
  if (number == SIGHUP) {
    reloader_->request([](const Reloaded&) {});
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
  const Instant end = begin + kDrainGrace;
  for (;;) {
    loop_.poll_once(kStepMs);
    if (clock_.now() >= begin + kIdleGrace) {
      for (const auto& worker : workers_) worker->close_idle();
    }
    const bool open = std::any_of(workers_.begin(), workers_.end(),
                                  [](const auto& worker) { return worker->connections() != 0; });
    if (!open) return;
    if (at_once_ || clock_.now() >= end) {
      spdlog::warn("closing connections that were still open");
      return;
    }
  }
}

}  // namespace

int serve(const ServeOptions& options) {
  int code = kGood;
  {
    Daemon daemon(options);
    code = daemon.run();
  }
  close_log(code);
  return code;
}

}  // namespace suimon::app
