// A policy over recorded traffic, in virtual time: what it would have allowed and refused.
//
// All lines of all logs are put in the order of their times (those of one second stay in the order
// of the files), and each is decided by the engine that serves live traffic, over the reference
// store, as of its own time. Every bucket is full at its first line.
//
// Memory: the text, 40 bytes a line, and about 150 bytes for each key of each limit.
// Complexity: O(n log n) in lines that are out of order, else O(n).
// Thread rule: a pure function of its arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "suimon/core/identity.h"
#include "suimon/policy/ruleset.h"
#include "suimon/replay/log_file.h"
#include "suimon/result.h"

namespace suimon {

struct ReplaySettings {
  std::string domain;                               // "" means the only one of the policy
  Secret secret;                                    // under which keys are hashed
  bool show_keys = false;                           // attribute values in place of hashes
  std::uint64_t max_keys = std::uint64_t{1} << 24;  // of the store; beyond it keys share a bucket
};

struct Report {
  struct Worst {
    std::string key;  // a hash, or the values of the key's attributes
    std::uint64_t refused = 0;
  };
  struct OfLimit {
    std::string name;
    std::uint64_t allowed = 0;       // requests that met this limit and that it let through
    std::uint64_t refused = 0;       // requests that it refused, whatever others said
    std::uint64_t keys = 0;          // that it saw
    std::uint64_t keys_refused = 0;  // that it refused at least once
    std::vector<Worst> worst;        // at most kWorst; equals in the order of their first request
  };
  static constexpr std::size_t kWorst = 5;
  static constexpr std::size_t kBadLinesNamed = 10;

  std::uint64_t requests = 0;  // allowed + refused + bad_paths + too_many_limits
  std::uint64_t bad_lines = 0;
  std::uint64_t allowed = 0;
  std::uint64_t refused = 0;
  std::uint64_t bad_paths = 0;        // a limit looks at the path, and it cannot be decoded
  std::uint64_t too_many_limits = 0;  // more limits apply than one request may be charged to
  std::uint64_t overflows = 0;        // charges that met a full store
  std::uint64_t clients = 0;
  std::uint64_t clients_refused = 0;
  std::optional<std::int64_t> first;  // seconds since 1970 UTC
  std::optional<std::int64_t> last;
  std::vector<OfLimit> limits;                // in the order of the policy
  std::vector<std::string> bad_line_reasons;  // file:line: column and reason, of the first ones
};

// Fails only when the policy does not have the domain or cannot be put in force.
Result<Report> replay(Policy policy, std::span<const LogFile> logs, const ReplaySettings& settings);

}  // namespace suimon
