// What a Redis server keeps of one key: an exact ledger and the parameters in which it is told.
//
//   all numbers below 2^53:  1 | seconds i5 | nanoseconds u4 | debt u7 | p u7 | q u7 | expires u5
//   everything else:         2 | seconds i5 | nanoseconds u4 | debt u18 | p u9 | q u9 | expires u5
//
// Little-endian, 36 or 51 bytes. The debt is in units of 1/q token, as of the instant; p of them
// flow in each nanosecond. The capacity is no part of it, so a change of capacity converts nothing.
// The second in which the server forgets it concerns the script alone: it tells by it whether the
// expiry must be set anew.
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "suimon/core/charge.h"
#include "suimon/core/state.h"

namespace suimon::redis {

// Appends what stands for the key behind the prefix: its 128 bits in base64url (RFC 4648, section
// 5), the higher half first, which is 22 characters. With "suimon:" they are few enough that Redis
// keeps the name in 32 bytes and never in two cache lines: with 32 digits a decision costs it an
// eighth more.
void append_name(std::string& out, const Key& key);

struct Record {
  Ledger ledger;
  std::uint64_t p = 1;  // at least 1
  std::uint64_t q = 1;  // at least 1
};

// Instants travel as whole seconds, rounded down, and nanoseconds, which doubles hold exactly.
struct Parted {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;  // below 10^9
  friend bool operator==(const Parted&, const Parted&) = default;
};
Parted parted(Instant instant);
// Saturates at the ends of the range.
Instant joined(const Parted& parts);

// Nothing for what is no record; take.lua reads with the same rules.
std::optional<Record> parse_record(std::string_view bytes);

// What take.lua writes, byte for byte, but for the expiry at its end.
void append_record(std::string& out, const Record& record);
inline constexpr std::size_t kExpiryBytes = 5;

// Little-endian, `bytes` long; the rest of the number is cut off.
void append_bytes(std::string& out, detail::uint128 number, unsigned bytes);
void append_instant(std::string& out, Instant instant);
std::optional<Instant> parse_instant(std::string_view nine_bytes);

}  // namespace suimon::redis
