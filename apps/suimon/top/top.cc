// suimon top: what a running daemon does, second by second.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <optional>
#include <system_error>

#include "apps/suimon/commands.h"
#include "apps/suimon/print.h"
#include "apps/suimon/top/client.h"
#include "apps/suimon/top/screen.h"
#include "apps/suimon/top/terminal.h"
#include "suimon/base/clock.h"
#include "suimon/base/text.h"
#include "suimon/net/fd.h"

namespace suimon::app {
namespace {

constexpr Duration kInterval = std::chrono::seconds(1);

// The first token of a file as --admin-token-file takes it.
Result<std::string> first_token(const std::string& path) {
  std::ifstream file(path);
  if (!file) return failure(path + " cannot be read: " + std::generic_category().message(errno));
  std::string line;
  while (std::getline(file, line)) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text.starts_with('#')) continue;
    std::string token(text.substr(text.find(':') + 1));
    if (token.find_first_of(" \t\r\n") == std::string::npos) return token;
    break;
  }
  return failure(path + " holds no token; write one a line, such as deploy:TOKEN");
}

// SIGINT, SIGTERM and SIGHUP, as something to wait for.
net::Fd signals_to_wait_for() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return net::Fd{::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
}

// Waits until `end`. True when somebody wants to leave: a signal, or "q" on the terminal.
bool leaves_before(Instant end, const net::Fd& signals, bool reads_keys) {
  for (;;) {
    const Duration left = end - boot_now();
    if (left <= Duration(0)) return false;
    std::array<pollfd, 2> polled = {pollfd{signals.get(), POLLIN, 0},
                                    pollfd{reads_keys ? STDIN_FILENO : -1, POLLIN, 0}};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (::poll(polled.data(), polled.size(), static_cast<int>(ms)) <= 0) continue;
    if (polled[0].revents != 0) return true;
    char key = 0;
    if (::read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q') return true;
  }
}

Result<Figures> look(const AdminServer& server, const net::Fd& signals) {
  const auto metrics = get(server, "/metrics", signals.get());
  if (!metrics) return tl::unexpected(metrics.error());
  const Instant at = boot_now();
  const auto top = get(server, "/v1/top?limit=10", signals.get());
  if (!top) return tl::unexpected(top.error());
  return read_figures(*metrics, *top, at);
}

}  // namespace

int top(const TopOptions& options) {
  AdminServer server;
  const auto address = net::parse_listen_address(options.admin);
  if (!address || address->kind == net::ListenAddress::Kind::off) {
    app::print(stderr, "--admin: {}\n",
               address ? "off is nowhere; write host:port or unix:/path" : address.error().text);
    return kWrongUsage;
  }
  server.address = *address;
  if (!options.token_file.empty()) {
    auto token = first_token(options.token_file);
    if (!token) {
      app::print(stderr, "--token-file: {}\n", token.error().text);
      return kWrongUsage;
    }
    server.token = std::move(*token);
  }
  const net::Fd signals = signals_to_wait_for();
  const bool on_screen =
      !options.once && !options.json && ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO);
  const bool once = options.once || (!options.json && !on_screen);
  const auto cannot = [&](const Error& error) {
    app::print(stderr, "{}: {}\n", options.admin, error.text);
    return kFailed;
  };
  auto before = look(server, signals);
  if (!before) return cannot(before.error());
  std::optional<Terminal> terminal;
  if (on_screen) terminal.emplace();
  for (Rates rates;;) {
    if (terminal) {
      terminal->show(
          screen_of(*before, rates, options.admin, std::time(nullptr), terminal->size()));
    }
    if (leaves_before(before->at + kInterval, signals, on_screen)) return kGood;
    auto after = look(server, signals);
    if (!after) {
      if (leaves_before(boot_now() + std::chrono::milliseconds(1), signals, false)) return kGood;
      terminal.reset();  // so that the words are seen
      return cannot(after.error());
    }
    rates = rates_between(*before, *after);
    before = std::move(after);
    if (options.json) {
      app::print(stdout, "{}\n", json_of(*before, rates));
    } else if (once) {
      app::print(stdout, "{}",
                 screen_of(*before, rates, options.admin, std::time(nullptr), ScreenSize{}));
    }
    if (once) return kGood;
    if (options.json && !all_written()) return kFailed;
  }
}

}  // namespace suimon::app
