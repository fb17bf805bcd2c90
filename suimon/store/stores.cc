#include "suimon/store/stores.h"

#include <string>

#include "suimon/store/memory.h"
#include "suimon/store/reference.h"

namespace suimon {
namespace {

Result<std::unique_ptr<Store>> open_memory(const StoreUrl& url, WhenFull when_full) {
  return MemoryStore::open({.max_keys = url.max_keys, .when_full = when_full});
}

Result<std::unique_ptr<Store>> open_reference(const StoreUrl& url, WhenFull when_full) {
  return std::make_unique<ReferenceStore>(
      ReferenceStore::Options{.max_keys = url.max_keys, .when_full = when_full});
}

constexpr StoreKind kStores[] = {
    {"memory", open_memory},
    {"reference", open_reference},
};

}  // namespace

std::span<const StoreKind> registered_stores() { return kStores; }

namespace {

struct Chosen {
  const StoreKind* kind = nullptr;
  StoreUrl url;
};

Result<Chosen> choose(std::string_view text) {
  std::string known;
  for (const StoreKind& kind : kStores) {
    if (!text.starts_with(std::string(kind.scheme) + "://")) {
      known += " " + std::string(kind.scheme) + "://";
      continue;
    }
    const auto url = parse_store_url(text);
    if (!url) return tl::unexpected(url.error());
    return Chosen{&kind, *url};
  }
  return failure("store \"" + std::string(text) + "\": this version knows" + known);
}

}  // namespace

Result<void> check_store_url(std::string_view url) {
  const auto chosen = choose(url);
  if (!chosen) return tl::unexpected(chosen.error());
  return {};
}

Result<std::unique_ptr<Store>> open_store(std::string_view url, WhenFull when_full) {
  const auto chosen = choose(url);
  if (!chosen) return tl::unexpected(chosen.error());
  return chosen->kind->open(chosen->url, when_full);
}

}  // namespace suimon
