// What a policy file says about the program that serves it: server, store and log.
#include <string>

#include "suimon/policy/quantity.h"
#include "suimon/policy/reading.h"
#include "suimon/policy/vocabulary.h"

namespace suimon {
namespace {

constexpr std::uint64_t kMostThreads = 256;
constexpr std::uint64_t kMostEvents = 10'000;
constexpr Duration kLongestTimeout = std::chrono::hours(24);

void read_text(const Node& node, std::string_view key, std::string_view example, std::string& out,
               Mistakes& mistakes) {
  const Entry* entry = node.find(key);
  if (entry == nullptr) return;
  if (const auto text = text_of(entry->value, key, example, mistakes)) out = *text;
}

void read_text(const Node& node, std::string_view key, std::string_view example,
               std::optional<std::string>& out, Mistakes& mistakes) {
  std::string text;
  read_text(node, key, example, text, mistakes);
  if (!text.empty()) out = std::move(text);
}

void read_timeout(const Node& node, std::string_view key, std::optional<Duration>& out,
                  Mistakes& mistakes) {
  const Entry* entry = node.find(key);
  if (entry == nullptr) return;
  const std::string name(key);
  const auto text = text_of(entry->value, key, name + ": 10s", mistakes);
  if (!text) return;
  const auto duration = parse_duration(*text);
  if (!duration) {
    mistakes.add(entry->value.at, name + ": " + duration.error().text);
  } else if (*duration > kLongestTimeout) {
    mistakes.add(entry->value.at, name + ": " + shown(*text) + " is longer than a day");
  } else {
    out = *duration;
  }
}

void read_tls(const Node& node, TlsSettings& tls, Mistakes& mistakes) {
  constexpr std::string_view kExample = "tls: {cert: server.pem, key: server.key}";
  if (!is_mapping(node, "tls", kExample, mistakes)) return;
  check_keys(node, kTlsWords, mistakes);
  const std::string cure = std::string(" is missing; write for example ") + std::string(kExample);
  required(node, "cert", kTlsWords, "tls: cert" + cure, mistakes);
  required(node, "key", kTlsWords, "tls: key" + cure, mistakes);
  read_text(node, "cert", "cert: server.pem", tls.cert, mistakes);
  read_text(node, "key", "key: server.key", tls.key, mistakes);
  read_text(node, "client_ca", "client_ca: clients.pem", tls.client_ca, mistakes);
}

}  // namespace

void read_server(const Node& node, Reading& reading) {
  Mistakes& mistakes = reading.mistakes;
  ServerSettings& server = reading.settings.server;
  if (!is_mapping(node, "server", "server: {http: 127.0.0.1:8080}", mistakes)) return;
  check_keys(node, kServerWords, mistakes);
  read_text(node, "http", "http: 127.0.0.1:8080", server.http, mistakes);
  read_text(node, "grpc", "grpc: 127.0.0.1:8081", server.grpc, mistakes);
  read_text(node, "resp", "resp: 127.0.0.1:6380", server.resp, mistakes);
  read_text(node, "admin", "admin: 127.0.0.1:9090", server.admin, mistakes);
  read_text(node, "admin_token_file", "admin_token_file: admin.token", server.admin_token_file,
            mistakes);
  read_text(node, "resp_password_file", "resp_password_file: resp.password",
            server.resp_password_file, mistakes);
  if (const Entry* threads = node.find("threads")) {
    const auto count =
        read_whole(threads->value, "threads", 0, kMostThreads, "; 0 means one a core", mistakes);
    if (count) server.threads = static_cast<unsigned>(*count);
  }
  if (const Entry* tls = node.find("tls")) read_tls(tls->value, server.tls, mistakes);
  const Entry* timeouts = node.find("timeouts");
  if (timeouts == nullptr ||
      !is_mapping(timeouts->value, "timeouts", "timeouts: {header: 10s}", mistakes)) {
    return;
  }
  check_keys(timeouts->value, kTimeoutsWords, mistakes);
  read_timeout(timeouts->value, "header", server.timeouts.header, mistakes);
  read_timeout(timeouts->value, "idle", server.timeouts.idle, mistakes);
  read_timeout(timeouts->value, "drain", server.timeouts.drain, mistakes);
}

void read_store(const Node& node, Reading& reading) {
  Mistakes& mistakes = reading.mistakes;
  StoreSettings& store = reading.settings.store;
  if (!is_mapping(node, "store", "store: {url: 'memory://'}", mistakes)) return;
  check_keys(node, kStoreWords, mistakes);
  read_text(node, "url", "url: 'memory://'", store.url, mistakes);
  read_text(node, "password_file", "password_file: store.password", store.password_file, mistakes);
  read_text(node, "secret_file", "secret_file: suimon.secret", store.secret_file, mistakes);
  read_text(node, "previous_secret_file", "previous_secret_file: suimon.secret.old",
            store.previous_secret_file, mistakes);
  if (const Entry* full = node.find("when_full")) {
    const auto choice = read_word(full->value, "when_full", kWhenFullNames, mistakes);
    if (choice) store.when_full = static_cast<WhenFull>(*choice);
  }
}

void read_log(const Node& node, Reading& reading) {
  Mistakes& mistakes = reading.mistakes;
  LogSettings& log = reading.settings.log;
  if (!is_mapping(node, "log", "log: {events: /var/log/suimon/refusals.jsonl}", mistakes)) return;
  check_keys(node, kLogWords, mistakes);
  read_text(node, "events", "events: /var/log/suimon/refusals.jsonl", log.events, mistakes);
  if (const Entry* identify = node.find("identify")) {
    const auto choice = read_word(identify->value, "identify", kIdentifyNames, mistakes);
    if (choice) log.identify = static_cast<Identify>(*choice);
  }
  if (const Entry* rate = node.find("per_second")) {
    log.per_second = read_whole(rate->value, "per_second", 1, kMostEvents,
                                "; to write none, write events: off", mistakes);
  }
}

}  // namespace suimon
