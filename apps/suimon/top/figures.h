// What suimon top shows, as figures: read from /metrics and /v1/top.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/result.h"
#include "suimon/time.h"

namespace suimon::app {

inline constexpr std::array<std::string_view, 5> kVerdicts = {"allowed", "limited", "never",
                                                              "shadow_limited", "error"};
using ByVerdict = std::array<double, kVerdicts.size()>;

struct LimitName {
  std::string domain, limit;
  friend auto operator<=>(const LimitName&, const LimitName&) = default;
};

struct RefusedKey {
  LimitName limit;
  std::string hash;
  std::uint64_t refused = 0, at_most = 0;
};

struct Figures {
  Instant at;  // when they were read
  std::string version;
  ByVerdict requests{};
  std::map<LimitName, ByVerdict> limits;
  double entries = 0, bytes = 0, evictions = 0, overflows = 0;
  bool reload_successful = false;
  double last_success = 0;      // Unix time
  std::vector<RefusedKey> top;  // the most refused first
};

// Reads both answers. An error says which of them cannot be read.
Result<Figures> read_figures(std::string_view metrics, std::string_view top, Instant at);

// What happened between two readings: counts a second, for what is in both.
struct Rates {
  double seconds = 0;
  ByVerdict requests{};
  std::map<LimitName, ByVerdict> limits;
};
Rates rates_between(const Figures& before, const Figures& after);

}  // namespace suimon::app
