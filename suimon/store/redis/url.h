// Addresses of Redis servers:
//
//   redis://[user:password@]host[:port][/db]              one server; rediss:// by TLS
//   redis+unix://[user:password@]/path/to/socket          one server on this machine
//   redis-sentinel://host[:port],…/name[/db]              the master that Sentinels name
//   redis-cluster://host[:port],…                         a cluster, found by any of its nodes
//
// with options behind "?" (struct Url says which). rediss-sentinel and rediss-cluster go by TLS.
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/net/client_connection.h"
#include "suimon/result.h"

namespace suimon::redis {

struct Url {
  enum class Kind : std::uint8_t { single, sentinel, cluster };
  Kind kind = Kind::single;
  std::vector<net::Endpoint> endpoints;  // 1 to 64; of Sentinels where they name the server
  std::string master;                    // the name that the Sentinels know
  std::string user;                      // empty: the default user
  std::string password;                  // empty: none
  bool tls = false;

  std::string password_file;           // instead of a password: the first line of this file
  std::string sentinel_password_file;  // for the Sentinels themselves; empty: they want none
  Duration timeout = std::chrono::milliseconds(50);           // 1 ms to 1 min, for an answer
  Duration connect_timeout = std::chrono::milliseconds(500);  // 1 ms to 1 min, until it is ready
  unsigned db = 0;                                            // 0 to 65535; a cluster has only 0
  unsigned shards = 64;            // 1 to 1024: over so many slots of a cluster keys are spread
  std::string prefix = "suimon:";  // of every key; at most 64 bytes, without { and }
  std::string tls_ca;  // PEM files: whom to trust (empty: whom the system does), what to show
  std::string tls_cert;
  std::string tls_key;
  std::string tls_server_name;  // that certificates must be for; empty: the host
};

// The error says what was read and what would be right, without the password.
Result<Url> parse_url(std::string_view text);

}  // namespace suimon::redis
