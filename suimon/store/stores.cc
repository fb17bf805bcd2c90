#include "suimon/store/stores.h"

#include <string>

#include "suimon/store/memory.h"
#include "suimon/store/redis_stores.h"
#include "suimon/store/reference.h"

namespace suimon {
namespace {

Result<void> check_plain(std::string_view url) {
  const auto read = parse_store_url(url);
  return read ? Result<void>{} : tl::unexpected(read.error());
}

Result<std::unique_ptr<Store>> open_memory(std::string_view url, const StoreOptions& options) {
  const auto read = parse_store_url(url);
  if (!read) return tl::unexpected(read.error());
  return MemoryStore::open({.max_keys = read->max_keys, .when_full = options.when_full});
}

Result<std::unique_ptr<Store>> open_reference(std::string_view url, const StoreOptions& options) {
  const auto read = parse_store_url(url);
  if (!read) return tl::unexpected(read.error());
  return std::make_unique<ReferenceStore>(
      ReferenceStore::Options{.max_keys = read->max_keys, .when_full = options.when_full});
}

constexpr StoreKind kStores[] = {
    {"memory", false, check_plain, open_memory},
    {"reference", false, check_plain, open_reference},
    {"redis", true, RedisStores::check, RedisStores::open},
    {"rediss", true, RedisStores::check, RedisStores::open},
    {"redis+unix", true, RedisStores::check, RedisStores::open},
    {"redis-sentinel", true, RedisStores::check, RedisStores::open},
    {"rediss-sentinel", true, RedisStores::check, RedisStores::open},
    {"redis-cluster", true, RedisStores::check, RedisStores::open},
    {"rediss-cluster", true, RedisStores::check, RedisStores::open},
};

Result<const StoreKind*> kind_of(std::string_view url) {
  if (const StoreKind* kind = find_store(url)) return kind;
  std::string known;
  for (const StoreKind& kind : kStores) known += " " + std::string(kind.scheme) + "://";
  return failure("store \"" + std::string(url) + "\": this version knows" + known);
}

}  // namespace

std::span<const StoreKind> registered_stores() { return kStores; }

const StoreKind* find_store(std::string_view url) {
  for (const StoreKind& kind : kStores) {
    if (url.starts_with(kind.scheme) && url.substr(kind.scheme.size()).starts_with("://")) {
      return &kind;
    }
  }
  return nullptr;
}

Result<void> check_store_url(std::string_view url) {
  const auto kind = kind_of(url);
  return kind ? (*kind)->check(url) : tl::unexpected(kind.error());
}

Result<std::unique_ptr<Store>> open_store(std::string_view url, const StoreOptions& options) {
  const auto kind = kind_of(url);
  if (!kind) return tl::unexpected(kind.error());
  return (*kind)->open(url, options);
}

}  // namespace suimon
