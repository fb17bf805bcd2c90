// The command line of suimon.
#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>

#include "apps/suimon/commands.h"
#include "apps/suimon/print.h"
#include "suimon/replay/run.h"

namespace {

using suimon::app::kGood;
using suimon::app::kWrongUsage;

// CLI11 would take "-1" for 2^64 - 1.
const CLI::Validator kWholeNumber(
    [](std::string& text) {
      std::uint64_t value = 0;
      const char* const end = text.data() + text.size();
      const auto [stop, error] = std::from_chars(text.data(), end, value);
      const bool good = !text.empty() && error == std::errc{} && stop == end &&
                        (text.size() == 1 || text.front() != '0');
      return good ? std::string() : "\"" + text + "\" is no whole number from 0 to 2^64 - 1";
    },
    "UINT", "whole number");

// Required, but checked by us: CLI11 would say so before it names a misspelt flag.
bool has_config(const std::string& config) {
  if (!config.empty()) return true;
  std::cerr << "--config is required: the policy, a file or a directory of them\n";
  return false;
}

// "servee" for "serve": the command that was probably meant, or "".
std::string probably_meant(const CLI::App& app, const std::string& word) {
  for (const CLI::App* command : app.get_subcommands({})) {
    const std::string& name = command->get_name();
    if (word.starts_with(name.substr(0, 3)) || name.starts_with(word)) return name;
  }
  return {};
}

int no_command(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  if (words.empty()) {
    std::cerr << "a command is missing; suimon --help lists them\n";
    return kWrongUsage;
  }
  if (words.front().starts_with('-')) {
    std::cerr << "unknown flag " << words.front() << "; suimon --help lists them\n";
    return kWrongUsage;
  }
  const std::string meant = probably_meant(app, words.front());
  std::cerr << "unknown command \"" << words.front() << "\""
            << (meant.empty() ? "; suimon --help lists them" : "; did you mean " + meant + "?")
            << '\n';
  return kWrongUsage;
}

CLI::Option* config_option(CLI::App& command, std::string& config) {
  return command.add_option("--config", config, "the policy: a file, or a directory of them")
      ->envname("SUIMON_CONFIG");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"suimon: an exact rate limiter. It guards, replays and measures."};
  app.require_subcommand(0, 1);  // none is answered below, by name
  app.set_version_flag("--version", "suimon " SUIMON_VERSION);
  int code = kGood;

  suimon::app::ServeOptions serve;
  CLI::App& serve_command = *app.add_subcommand("serve", "decide for gateways and programs");
  config_option(serve_command, serve.config);
  serve_command
      .add_option("--http", serve.http, "where checks are asked: host:port, unix:/path or off")
      ->envname("SUIMON_HTTP")
      ->capture_default_str();
  serve_command
      .add_option("--admin", serve.admin, "where operators look: host:port, unix:/path or off")
      ->envname("SUIMON_ADMIN")
      ->capture_default_str();
  serve_command.add_option("--store", serve.store, "where state lives")
      ->envname("SUIMON_STORE")
      ->capture_default_str();
  serve_command
      .add_option("--secret-file", serve.secret_file,
                  "the secret that identities are hashed under; made if it is not there")
      ->envname("SUIMON_SECRET_FILE");
  serve_command
      .add_option("--admin-token-file", serve.admin_token_file,
                  "the tokens of those who may change state by the admin listener, one a line")
      ->envname("SUIMON_ADMIN_TOKEN_FILE");
  serve_command.add_option("--threads", serve.threads, "event loops; 0 means one a core")
      ->envname("SUIMON_THREADS")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  serve_command.callback(
      [&] { code = has_config(serve.config) ? suimon::app::serve(serve) : kWrongUsage; });

  std::string validated;
  CLI::App& validate_command =
      *app.add_subcommand("validate", "name every mistake of a policy with its place and cure");
  validate_command.add_option("policy", validated, "a file, or a directory of them");
  validate_command.callback([&] {
    if (validated.empty()) std::cerr << "write which policy: a file, or a directory of them\n";
    code = validated.empty() ? kWrongUsage : suimon::app::validate(validated);
  });

  suimon::app::CheckOptions check;
  CLI::App& check_command =
      *app.add_subcommand("check", "the policy's answer to made-up requests, in virtual time");
  config_option(check_command, check.config);
  check_command.add_option("attributes", check.attributes, "name=value, such as user=u1");
  check_command.add_option("--cost", check.cost, "tokens; 0 looks without taking")
      ->check(kWholeNumber)
      ->capture_default_str();
  check_command.add_option("--times", check.times, "how many requests")
      ->check(kWholeNumber)
      ->capture_default_str();
  check_command.add_option("--at", check.at, "seconds at which the first comes")
      ->capture_default_str();
  check_command.add_option("--every", check.every, "seconds between two")->capture_default_str();
  check_command.add_option("--language", check.language, "of the sentences")->capture_default_str();
  check_command.add_flag("--exit-code", check.exit_code, "exit with 3 when one was refused");
  check_command.callback(
      [&] { code = has_config(check.config) ? suimon::app::check(check) : kWrongUsage; });

  suimon::ReplayOptions replay;
  CLI::App& replay_command =
      *app.add_subcommand("replay", "the policy over recorded traffic, in virtual time");
  config_option(replay_command, replay.config);
  replay_command.add_option("logs", replay.logs, "access logs; - is standard input");
  replay_command.add_flag("--json", replay.json, "print one JSON object");
  replay_command.add_flag("--show-keys", replay.show_keys, "print clients as they are, not hashed");
  replay_command.callback([&] { code = suimon::run_replay(replay, std::cout, std::cerr); });

  suimon::app::TopOptions top;
  CLI::App& top_command =
      *app.add_subcommand("top", "what a running daemon does, second by second; q quits");
  top_command.add_option("--admin", top.admin, "its admin listener: host:port or unix:/path")
      ->envname("SUIMON_ADMIN")
      ->capture_default_str();
  top_command.add_option("--token-file", top.token_file, "a file whose first token is sent along")
      ->envname("SUIMON_ADMIN_TOKEN_FILE");
  top_command.add_flag("--once", top.once, "print one screen, of one second, and end");
  top_command.add_flag("--json", top.json, "print one JSON object each second, or --once");
  top_command.callback([&] { code = suimon::app::top(top); });

  suimon::app::BenchOptions bench;
  CLI::App& bench_command = *app.add_subcommand(
      "bench", "decisions in this process, against the machine's own floors; 15 s, 480 MB");
  bench_command.add_option("--keys", bench.keys, "random keys, in a table that is made for them")
      ->check(CLI::Range(std::uint64_t{10'000}, std::uint64_t{1} << 32))
      ->capture_default_str();
  bench_command.add_flag("--json", bench.json, "print one JSON object");
  bench_command.callback([&] { code = suimon::app::bench(bench); });

  app.allow_extras();
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) return no_command(app);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kGood : kWrongUsage;
  }
  if (code == kGood && !suimon::app::all_written()) return suimon::app::kFailed;
  return code;
}
