// What a policy file may say about the program that serves it: sections server, store and log.
//
// Everything is as it was written; what is not written is empty, so that a flag or the environment
// can go first and a default last. Values are checked where they are used, when the program starts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "suimon/base/clock.h"
#include "suimon/core/when_full.h"

namespace suimon {

struct TlsSettings {
  std::string cert;       // a PEM file: the certificate and those between it and the root
  std::string key;        // a PEM file
  std::string client_ca;  // a PEM file: callers must show a certificate that one of these signed
};

struct TimeoutSettings {
  std::optional<Duration> header;  // for the whole of a request's head
  std::optional<Duration> idle;    // between two requests
  std::optional<Duration> drain;   // for what is under way when the program stops
};

struct ServerSettings {
  std::optional<std::string> http, grpc, resp, admin;  // host:port, unix:/path or off
  std::optional<unsigned> threads;
  TlsSettings tls;
  TimeoutSettings timeouts;
  std::string admin_token_file;    // who may change state by the admin listener
  std::string resp_password_file;  // what clients of Redis must show
};

struct StoreSettings {
  std::optional<std::string> url;
  std::string password_file;
  std::string secret_file;
  std::string previous_secret_file;  // what it was before: its states are accepted
  std::optional<WhenFull> when_full;
};

// How much of a client the log of refusals shows.
enum class Identify : std::uint8_t { none, truncated, raw };
inline constexpr std::array<std::string_view, 3> kIdentifyNames = {"none", "truncated", "raw"};

struct LogSettings {
  std::optional<std::string> events;  // where refusals go: a file, stderr or off
  std::optional<Identify> identify;
  std::optional<std::uint64_t> per_second;  // so many lines at most; the rest is counted
};

struct Settings {
  ServerSettings server;
  StoreSettings store;
  LogSettings log;
};

}  // namespace suimon
