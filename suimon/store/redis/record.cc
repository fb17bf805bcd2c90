#include "suimon/store/redis/record.h"

#include <algorithm>

namespace suimon::redis {
namespace {

using detail::uint128;

constexpr std::uint64_t kExact = std::uint64_t{1} << 53;  // doubles hold all that is below
constexpr std::int64_t kBillion = 1'000'000'000;
constexpr std::size_t kInstantBytes = 9;
constexpr std::size_t kCompactBytes = 31 + kExpiryBytes;
constexpr std::size_t kWideBytes = 46 + kExpiryBytes;

uint128 read_bytes(std::string_view& bytes, std::size_t size) {
  uint128 number = 0;
  for (std::size_t i = std::min<std::size_t>(size, 16); i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  bytes.remove_prefix(size);
  return number;
}

Parted read_parted(std::string_view& bytes) {
  auto seconds = static_cast<std::uint64_t>(read_bytes(bytes, 5));
  if ((seconds >> 39) != 0) seconds |= ~((std::uint64_t{1} << 40) - 1);
  return {static_cast<std::int64_t>(seconds), static_cast<std::uint32_t>(read_bytes(bytes, 4))};
}

bool small(const Record& record) {
  return record.ledger.amount < kExact && record.p < kExact && record.q < kExact;
}

}  // namespace

void append_name(std::string& out, const Key& key) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const uint128 bits = static_cast<uint128>(key.high) << 64 | key.low;
  for (int shift = 122; shift >= 0; shift -= 6) {
    out += kDigits[static_cast<std::size_t>(bits >> shift) & 63];
  }
  out += kDigits[static_cast<std::size_t>(bits << 4) & 63];
}

Parted parted(Instant instant) {
  std::int64_t seconds = instant.ns / kBillion;
  std::int64_t rest = instant.ns % kBillion;
  if (rest < 0) {
    --seconds;
    rest += kBillion;
  }
  return {seconds, static_cast<std::uint32_t>(rest)};
}

Instant joined(const Parted& parts) {
  __extension__ typedef __int128 int128;
  const int128 ns = static_cast<int128>(parts.seconds) * kBillion + parts.nanoseconds;
  if (ns < Instant::min().ns) return Instant::min();
  if (ns > Instant::max().ns) return Instant::max();
  return Instant(Duration(static_cast<std::int64_t>(ns)));
}

std::optional<Record> parse_record(std::string_view bytes) {
  const std::size_t size = bytes.size();
  if (size != kCompactBytes && size != kWideBytes) return std::nullopt;
  const auto form = read_bytes(bytes, 1);
  const Parted at = read_parted(bytes);
  if (form != (size == kCompactBytes ? 1U : 2U) || at.nanoseconds >= kBillion) return std::nullopt;
  Record record;
  record.ledger.at = joined(at);
  if (parted(record.ledger.at) != at) return std::nullopt;  // beyond all instants
  if (form == 1) {
    record.ledger.amount = read_bytes(bytes, 7);
    record.p = static_cast<std::uint64_t>(read_bytes(bytes, 7));
    record.q = static_cast<std::uint64_t>(read_bytes(bytes, 7));
    if (!small(record)) return std::nullopt;
  } else {
    const bool beyond = bytes[16] != 0 || bytes[17] != 0;
    record.ledger.amount = read_bytes(bytes, 18);
    const uint128 p = read_bytes(bytes, 9);
    const uint128 q = read_bytes(bytes, 9);
    if (beyond || record.ledger.amount > static_cast<uint128>(1) << 124 || p >> 64 != 0 ||
        q >> 64 != 0) {
      return std::nullopt;
    }
    record.p = static_cast<std::uint64_t>(p);
    record.q = static_cast<std::uint64_t>(q);
  }
  if (record.p == 0 || record.q == 0) return std::nullopt;
  return record;
}

void append_record(std::string& out, const Record& record) {
  const bool compact = small(record);
  out += compact ? '\1' : '\2';
  append_instant(out, record.ledger.at);
  append_bytes(out, record.ledger.amount, compact ? 7 : 18);
  append_bytes(out, record.p, compact ? 7 : 9);
  append_bytes(out, record.q, compact ? 7 : 9);
}

void append_bytes(std::string& out, uint128 number, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) {
    out += i < 16 ? static_cast<char>(static_cast<unsigned char>(number >> (8 * i))) : '\0';
  }
}

void append_instant(std::string& out, Instant instant) {
  const Parted parts = parted(instant);
  append_bytes(out, static_cast<uint128>(static_cast<std::uint64_t>(parts.seconds)), 5);
  append_bytes(out, parts.nanoseconds, 4);
}

std::optional<Instant> parse_instant(std::string_view bytes) {
  if (bytes.size() != kInstantBytes) return std::nullopt;
  const Parted parts = read_parted(bytes);
  if (parts.nanoseconds >= kBillion) return std::nullopt;
  return joined(parts);
}

}  // namespace suimon::redis
