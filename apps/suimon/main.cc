// The command line of suimon.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

#include "apps/suimon/commands.h"
#include "apps/suimon/print.h"
#include "apps/suimon/standard_files.h"
#include "suimon/base/text.h"
#include "suimon/door/doors.h"
#include "suimon/replay/run.h"

namespace {

using suimon::Identify;
using suimon::kIdentifyNames;
using suimon::kWhenFullNames;
using suimon::WhenFull;
using suimon::app::kGood;
using suimon::app::kWrongUsage;

// CLI11 would take "-1" for 2^64 - 1.
// NOLINTNEXTLINE(cert-err58-cpp): nothing runs yet that could be told
const CLI::Validator kWholeNumber(
    [](std::string& text) {
      const bool good =
          suimon::parse_number<std::uint64_t>(text) && (text.size() == 1 || text.front() != '0');
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

// A word of a list, and which one it is.
CLI::Validator one_of(std::span<const std::string_view> words) {
  return CLI::Validator(
      [words](std::string& word) {
        if (std::find(words.begin(), words.end(), word) != words.end()) return std::string();
        std::string known;
        for (const std::string_view one : words)
          known.append(known.empty() ? "" : ", ").append(one);
        return "\"" + word + "\" is not known; write " + known;
      },
      "WORD");
}
template <class Enum>
Enum choice(const std::string& word, std::span<const std::string_view> words) {
  return static_cast<Enum>(std::find(words.begin(), words.end(), word) - words.begin());
}

// Has each command look at its own environment variables only. Otherwise CLI11 reads those of all
// commands, and a mistake in one for `serve` would keep an operator from `top`.
void keep_environments_apart(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) command->parse_complete_callback([] {});
}

// " (from the environment: SUIMON_THREADS)" when the option that a message begins with was not on
// the command line, so that nobody looks for the mistake there.
std::string source_of(const CLI::App& app, int argc, char** argv, const std::string& message) {
  const std::string flag = message.substr(0, message.find(':'));
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with(flag)) return {};
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    const CLI::Option* option = command->get_option_no_throw(flag);
    if (command->parsed() && option != nullptr && !option->get_envname().empty()) {
      return " (from the environment: " + option->get_envname() + ")";
    }
  }
  return {};
}

// The whole program; what it throws is told by main.
int run(int argc, char** argv) {
  CLI::App app{"suimon: an exact rate limiter. It guards, replays and measures.", "suimon"};
  app.require_subcommand(0, 1);  // none is answered below, by name
  app.set_version_flag("--version", "suimon " SUIMON_VERSION);
  int code = kGood;

  suimon::app::ServeOptions serve;
  suimon::Settings& flags = serve.flags;
  CLI::App& serve_command = *app.add_subcommand("serve", "decide for gateways and programs");
  config_option(serve_command, serve.config);
  for (const suimon::door::DoorKind& kind : suimon::door::registered_doors()) {
    serve_command
        .add_option("--" + std::string(kind.name), flags.server.*kind.address,
                    std::string(kind.purpose) + ": host:port, unix:/path or off [" +
                        std::string(kind.by_default) + "]")
        ->envname(std::string(kind.environment));
  }
  serve_command
      .add_option("--admin", flags.server.admin,
                  "where operators look: host:port, unix:/path or off [127.0.0.1:9090]")
      ->envname("SUIMON_ADMIN");
  serve_command
      .add_option("--store", flags.store.url, "where state lives [memory://?max_keys=1000000]")
      ->envname("SUIMON_STORE");
  serve_command
      .add_option("--store-password-file", flags.store.password_file,
                  "the file with the password of a remote store")
      ->envname("SUIMON_STORE_PASSWORD_FILE");
  serve_command
      .add_option_function<std::string>(
          "--when-full",
          [&](const std::string& word) {
            flags.store.when_full = choice<WhenFull>(word, kWhenFullNames);
          },
          "what a newcomer gets when every place belongs to somebody who is limited: share, refuse "
          "or pardon [share]")
      ->envname("SUIMON_WHEN_FULL")
      ->check(one_of(kWhenFullNames));
  serve_command
      .add_option("--secret-file", flags.store.secret_file,
                  "the secret that identities are hashed under; made if it is not there")
      ->envname("SUIMON_SECRET_FILE");
  serve_command
      .add_option("--tls-cert", flags.server.tls.cert,
                  "a PEM file with the certificate and those between it and the root; with it, "
                  "TCP listeners speak TLS")
      ->envname("SUIMON_TLS_CERT");
  serve_command.add_option("--tls-key", flags.server.tls.key, "a PEM file with its key")
      ->envname("SUIMON_TLS_KEY");
  serve_command
      .add_option("--tls-client-ca", flags.server.tls.client_ca,
                  "a PEM file: callers must show a certificate that one of these signed")
      ->envname("SUIMON_TLS_CLIENT_CA");
  serve_command
      .add_option("--admin-token-file", flags.server.admin_token_file,
                  "the tokens of those who may change state by the admin listener, one a line")
      ->envname("SUIMON_ADMIN_TOKEN_FILE");
  serve_command
      .add_option("--resp-password-file", flags.server.resp_password_file,
                  "the file with the password that clients of Redis must show")
      ->envname("SUIMON_RESP_PASSWORD_FILE");
  serve_command
      .add_option("--threads", flags.server.threads, "event loops; 0 means one a core [0]")
      ->envname("SUIMON_THREADS")
      ->check(CLI::Range(0, 256));
  serve_command
      .add_option("--log-events", flags.log.events, "where refusals go: a file, stderr or off")
      ->envname("SUIMON_LOG_EVENTS");
  serve_command
      .add_option_function<std::string>(
          "--log-identify",
          [&](const std::string& word) {
            flags.log.identify = choice<Identify>(word, kIdentifyNames);
          },
          "what they show of a client beside its hash: none, truncated or raw [none]")
      ->envname("SUIMON_LOG_IDENTIFY")
      ->check(one_of(kIdentifyNames));
  serve_command
      .add_option("--log-events-per-second", flags.log.per_second,
                  "how many of a second are written, 1 to 10000")
      ->envname("SUIMON_LOG_EVENTS_PER_SECOND")
      ->check(CLI::Range(1, 10'000));
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
  check_command.add_option("--language", check.language, "of the sentences; else the policy's");
  check_command.add_flag("--exit-code", check.exit_code, "exit with 3 when one was refused");
  check_command.callback(
      [&] { code = has_config(check.config) ? suimon::app::check(check) : kWrongUsage; });

  suimon::app::ExplainOptions explain;
  CLI::App& explain_command =
      *app.add_subcommand("explain", "which limits apply to a request, and why or why not");
  config_option(explain_command, explain.config);
  explain_command.add_option("attributes", explain.attributes, "name=value, such as user=u1");
  explain_command.add_flag("--json", explain.json, "print one JSON object");
  explain_command.callback(
      [&] { code = has_config(explain.config) ? suimon::app::explain(explain) : kWrongUsage; });

  suimon::app::KeyHashOptions key_hash;
  CLI::App& key_hash_command = *app.add_subcommand(
      "key-hash", "the hashes under which limits know a client, in the log and in the store");
  config_option(key_hash_command, key_hash.config);
  key_hash_command.add_option("attributes", key_hash.attributes, "name=value, such as user=u1");
  key_hash_command
      .add_option("--secret-file", key_hash.secret_file, "the secret that serve hashes under")
      ->envname("SUIMON_SECRET_FILE");
  key_hash_command
      .add_option("--previous-secret-file", key_hash.previous_secret_file,
                  "the secret of before: print the hashes under it, too")
      ->envname("SUIMON_PREVIOUS_SECRET_FILE");
  key_hash_command.callback(
      [&] { code = has_config(key_hash.config) ? suimon::app::key_hash(key_hash) : kWrongUsage; });

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
  keep_environments_apart(app);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) return no_command(app);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ValidationError)) {
      std::cerr << error.what() << source_of(app, argc, argv, error.what())
                << "\nRun with --help for more information.\n";
      return kWrongUsage;
    }
    return app.exit(error) == 0 ? kGood : kWrongUsage;
  }
  if (code == kGood && !suimon::app::all_written()) return suimon::app::kFailed;
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  if (!suimon::app::open_standard_files()) return suimon::app::kFailed;
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("suimon: there is not enough memory; allow more, or ask for fewer threads or keys\n",
               stderr);
    return suimon::app::kFailed;
  } catch (const std::exception& error) {
    std::fputs("suimon: ", stderr);
    std::fputs(error.what(), stderr);
    std::fputc('\n', stderr);
    return suimon::app::kFailed;
  }
}
