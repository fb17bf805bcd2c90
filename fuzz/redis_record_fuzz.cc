// Records of a Redis server: what is read is within its range, and written again reads the same.
#include <cstdlib>

#include "suimon/store/redis/record.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  namespace redis = suimon::redis;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto at = redis::parse_instant(bytes)) {
    std::string text;
    redis::append_instant(text, *at);
    if (redis::parse_instant(text) != at) std::abort();
  }
  const auto record = redis::parse_record(bytes);
  if (!record) return 0;
  if (record->p == 0 || record->q == 0) std::abort();
  if (record->ledger.amount > static_cast<suimon::detail::uint128>(1) << 124) std::abort();
  std::string text;
  redis::append_record(text, *record);
  text.append(redis::kExpiryBytes, '\0');
  const auto again = redis::parse_record(text);
  if (!again || again->ledger.at != record->ledger.at) std::abort();
  if (again->ledger.amount != record->ledger.amount) std::abort();
  if (again->p != record->p || again->q != record->q) std::abort();
  return 0;
}
