// Where the slots of a cluster are, out of the answer to CLUSTER SLOTS and out of redirects.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/net/client_connection.h"
#include "suimon/store/redis/servers.h"

namespace suimon::redis {

inline constexpr std::size_t kSlots = 16'384;

// Slots first to last, of one master.
struct SlotRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  net::Endpoint master;
};

// `asked` is who has answered: a node that says nothing or "" of a host means the same as that one.
// Ranges and nodes that make no sense are left out; an answer that is none gives an empty list.
std::vector<SlotRange> read_slots(const Value& answer, const std::string& asked);

struct Redirect {
  std::uint16_t slot = 0;
  net::Endpoint to;
};

// "MOVED 3999 127.0.0.1:6381" or "ASK …"; nothing when it does not say where to.
std::optional<Redirect> read_redirect(std::string_view error, const std::string& asked);

}  // namespace suimon::redis
