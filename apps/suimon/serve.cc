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
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

#include "apps/suimon/commands.h"
#include "apps/suimon/load.h"
#include "apps/suimon/secret.h"
#include "apps/suimon/token_file.h"
#include "apps/suimon/worker.h"
#include "suimon/base/json.h"
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

std::string to_json(const PolicyChanges& changes) {
  std::string out = "{";
  for (const auto& [name, limits] :
       {std::pair("added", &changes.added), std::pair("changed", &changes.changed),
        std::pair("removed", &changes.removed)}) {
    out += fmt::format("{}\"{}\":[", out.size() == 1 ? "" : ",", name);
    for (std::size_t i = 0; i < limits->size(); ++i) {
      out += i == 0 ? "" : ",";
      append_json_string(out, (*limits)[i]);
    }
    out += ']';
  }
  return out + '}';
}

class Daemon {
 public:
  explicit Daemon(const ServeOptions& options) : options_(options) {}

  int run();

 private:
  int open_listeners();
  Result<void> open_http(const net::ListenAddress& address);
  Result<void> open_admin(const net::ListenAddress& address);
  Result<std::string> reload();
  void reload_for_all();
  bool ask_for_reload(door::Reloaded told);
  void drain(const sigset_t& signals);
  // Those that decide, and the one of the admin listener.
  template <class Use>
  void each_worker(Use&& use) {
    for (const auto& worker : workers_) use(*worker);
    if (admin_) use(*admin_);
  }

  const ServeOptions& options_;
  BootClock clock_;
  std::atomic<bool> ready_{false};
  std::unique_ptr<Store> store_;
  std::unique_ptr<LivePolicy> policy_;
  std::unique_ptr<Metrics> metrics_;
  std::vector<std::unique_ptr<net::SocketFile>> socket_files_;
  door::AdminTokens admin_tokens_;
  pthread_t signal_thread_ = ::pthread_self();  // the one that run() is on
  std::mutex mutex_;
  std::vector<door::Reloaded> waiting_;  // for a reload; under mutex_
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Worker> admin_;
};

sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

int Daemon::run() {
  auto policy = load_or_explain(options_.config);
  if (!policy) return kWrongUsage;
  // Before the first thread, so that all of them leave the signals to this one.
  const sigset_t signals = block_signals();
  set_up_log();
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
  auto tokens =
      load_admin_tokens(options_.admin_token_file.empty() ? policy->settings.server.admin_token_file
                                                          : options_.admin_token_file);
  if (!tokens) {
    spdlog::error("{}", tokens.error().text);
    return kWrongUsage;
  }
  admin_tokens_ = std::move(*tokens);
  store_ = std::move(*store);
  policy_ = std::make_unique<LivePolicy>(*store_, *secret);
  metrics_ = std::make_unique<Metrics>(*policy_, *store_, kListenerNames, kDoors, SUIMON_VERSION);
  const auto installed = policy_->install(std::move(*policy), clock_.now());
  if (!installed) {
    spdlog::error("{}: {}", options_.config, installed.error().text);
    return kWrongUsage;
  }
  metrics_->reloaded(true, std::time(nullptr));
  if (const int code = open_listeners(); code != kGood) return code;
  each_worker([](Worker& worker) { worker.start(); });
  ready_.store(true, std::memory_order_release);
  spdlog::info("ready: {} limit{} from {}, {} thread{}", installed->added.size(),
               installed->added.size() == 1 ? "" : "s", options_.config, workers_.size(),
               workers_.size() == 1 ? "" : "s");

  for (;;) {
    const int signal = sigwaitinfo(&signals, nullptr);
    if (signal == SIGHUP) reload_for_all();
    if (signal == SIGTERM || signal == SIGINT) break;
  }
  drain(signals);
  each_worker([](Worker& worker) { worker.stop(); });
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
  for (unsigned i = 0; i < threads; ++i) {
    workers_.push_back(
        std::make_unique<Worker>(*policy_, *store_, metrics_->add_loop(), clock_, ready_));
  }
  if (http->kind != net::ListenAddress::Kind::off) {
    if (auto opened = open_http(*http); !opened) {
      spdlog::error("http: {}", opened.error().text);
      return kFailed;
    }
  }
  if (admin->kind != net::ListenAddress::Kind::off) {
    if (auto opened = open_admin(*admin); !opened) {
      spdlog::error("admin: {}", opened.error().text);
      return kFailed;
    }
  }
  return kGood;
}

Result<void> Daemon::open_admin(const net::ListenAddress& address) {
  auto listener = net::open_listener(address, /*reuse_port=*/false);
  if (!listener) return tl::unexpected(listener.error());
  spdlog::info("admin listens on {}", net::bound_address(*listener));
  socket_files_.push_back(std::make_unique<net::SocketFile>(address));
  admin_ = std::make_unique<Worker>(*policy_, *store_, metrics_->add_loop(), clock_, ready_);
  admin_->open_admin(
      std::move(*listener),
      {.policy = *policy_,
       .store = *store_,
       .metrics = *metrics_,
       .ready = ready_,
       .tokens = std::move(admin_tokens_),
       .more_metrics = dropped_lines,
       .reload = [this](door::Reloaded told) { return ask_for_reload(std::move(told)); },
       .audit = [](std::string_view line) { spdlog::info("audit {}", line); },
       .unix_seconds = [] { return std::time(nullptr); }});
  return {};
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
  spdlog::info("http listens on {}", bound);
  if (!tcp) socket_files_.push_back(std::make_unique<net::SocketFile>(address));
  const auto chosen = tcp ? net::parse_listen_address(bound) : Result<net::ListenAddress>(address);
  if (!chosen) return tl::unexpected(chosen.error());
  for (std::size_t i = 1; i < workers_.size(); ++i) {
    auto next = tcp ? net::open_listener(*chosen, true) : net::share(*first);
    if (!next) return tl::unexpected(next.error());
    workers_[i]->open_http(std::move(*next), places);
  }
  workers_.front()->open_http(std::move(*first), places);
  return {};
}

// For a door, on any thread: the thread that has the signals reloads, and then tells.
bool Daemon::ask_for_reload(door::Reloaded told) {
  constexpr std::size_t kMostWaiting = 64;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() == kMostWaiting) return false;
    waiting_.push_back(std::move(told));
  }
  ::pthread_kill(signal_thread_, SIGHUP);
  return true;
}

// One reload for all who have asked until now.
void Daemon::reload_for_all() {
  std::vector<door::Reloaded> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(waiting_);
  }
  const Result<std::string> result = reload();
  for (const door::Reloaded& told : waiting) told(result);
}

// What was changed, as JSON; or what is wrong, a mistake a line.
Result<std::string> Daemon::reload() {
  Loaded loaded = load_policy(options_.config);
  for (const Mistake& warning : loaded.warnings) spdlog::warn("{}", warning.to_string());
  for (const Mistake& mistake : loaded.mistakes) spdlog::error("{}", mistake.to_string());
  Result<PolicyChanges> installed = loaded.ok()
                                        ? policy_->install(std::move(loaded.policy), clock_.now())
                                        : Result<PolicyChanges>(failure("see above"));
  constexpr std::size_t kMostNamed = 20;
  std::string wrong = loaded.ok() ? "" : "the running policy stays";
  for (std::size_t i = 0; i < std::min(kMostNamed, loaded.mistakes.size()); ++i) {
    wrong += "\n" + loaded.mistakes[i].to_string();
  }
  metrics_->reloaded(installed.has_value(), std::time(nullptr));
  if (!installed) {
    spdlog::error("{} was not loaded: {}; the running policy stays", options_.config,
                  installed.error().text);
    return failure(loaded.ok() ? installed.error().text : wrong);
  }
  for (const std::string& name : installed->added) spdlog::info("added {}", name);
  for (const std::string& name : installed->changed) spdlog::info("changed {}", name);
  for (const std::string& name : installed->removed) spdlog::info("removed {}", name);
  spdlog::info("{} was loaded: {} added, {} changed, {} removed", options_.config,
               installed->added.size(), installed->changed.size(), installed->removed.size());
  return to_json(*installed);
}

// Answers what is under way and lets the clients go; a second signal or the end of the grace
// period ends it at once.
void Daemon::drain(const sigset_t& signals) {
  ready_.store(false, std::memory_order_release);
  spdlog::info("draining: no new connections");
  each_worker([](Worker& worker) { worker.drain(); });
  constexpr timespec kStep{.tv_sec = 0, .tv_nsec = 20'000'000};
  const Instant begin = clock_.now();
  const Instant end = begin + kDrainGrace;
  for (;;) {
    const int signal = sigtimedwait(&signals, nullptr, &kStep);
    if (clock_.now() >= begin + kIdleGrace) {
      each_worker([](Worker& worker) { worker.close_idle(); });
    }
    std::size_t open = 0;
    each_worker([&](Worker& worker) { open += worker.connections(); });
    if (open == 0) return;
    if (signal == SIGTERM || signal == SIGINT || clock_.now() >= end) {
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
