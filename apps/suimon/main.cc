// The command line of suimon.
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

#include "apps/suimon/command_line.h"
#include "apps/suimon/commands.h"
#include "apps/suimon/print.h"
#include "apps/suimon/standard_files.h"
#include "suimon/door/doors.h"
#include "suimon/replay/run.h"

namespace {

using suimon::Identify;
using suimon::kIdentifyNames;
using suimon::kWhenFullNames;
using suimon::WhenFull;
using suimon::app::choice;
using suimon::app::config_option;
using suimon::app::has_config;
using suimon::app::kGood;
using suimon::app::kWholeNumber;
using suimon::app::kWrongUsage;
using suimon::app::one_of;

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
  suimon::app::keep_environments_apart(app);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) return suimon::app::no_command(app);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ValidationError)) {
      std::cerr << error.what() << suimon::app::source_of(app, argc, argv, error.what())
                << "\nRun with --help for more information.\n";
      return kWrongUsage;
    }
    if (app.exit(error) == 0) return kGood;
    std::cerr << suimon::app::dashes_hint(app);
    return kWrongUsage;
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
