#include "suimon/store/stores.h"

#include <charconv>
#include <string>

#include "suimon/store/memory.h"
#include "suimon/store/reference.h"

namespace suimon {
namespace {

// The one parameter of the stores in this process: how many keys have state at once.
Result<std::uint64_t> max_keys_of(std::string_view scheme, std::string_view parameters) {
  constexpr std::string_view kMaxKeys = "max_keys=";
  std::uint64_t keys = 1'000'000;
  if (parameters.empty()) return keys;
  const std::string_view number =
      parameters.starts_with(kMaxKeys) ? parameters.substr(kMaxKeys.size()) : std::string_view{};
  const char* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, keys);
  if (number.empty() || error != std::errc{} || stop != end || keys == 0 ||
      keys > std::uint64_t{1} << 32) {
    const std::string url = std::string(scheme) + "://?";
    return failure("store " + url + std::string(parameters) + ": write " + url +
                   "max_keys=N with N from 1 to 4294967296");
  }
  return keys;
}

Result<std::unique_ptr<Store>> open_memory(std::string_view parameters, WhenFull when_full) {
  const auto keys = max_keys_of("memory", parameters);
  if (!keys) return tl::unexpected(keys.error());
  return MemoryStore::open({.max_keys = *keys, .when_full = when_full});
}

Result<std::unique_ptr<Store>> open_reference(std::string_view parameters, WhenFull when_full) {
  const auto keys = max_keys_of("reference", parameters);
  if (!keys) return tl::unexpected(keys.error());
  return std::make_unique<ReferenceStore>(
      ReferenceStore::Options{.max_keys = *keys, .when_full = when_full});
}

constexpr StoreKind kStores[] = {
    {"memory", open_memory},
    {"reference", open_reference},
};

}  // namespace

std::span<const StoreKind> registered_stores() { return kStores; }

Result<std::unique_ptr<Store>> open_store(std::string_view url, WhenFull when_full) {
  const auto colon = url.find("://");
  for (const StoreKind& kind : kStores) {
    if (colon == std::string_view::npos || url.substr(0, colon) != kind.scheme) continue;
    std::string_view rest = url.substr(colon + 3);
    if (!rest.empty() && rest.front() == '?') rest.remove_prefix(1);
    return kind.open(rest, when_full);
  }
  std::string known;
  for (const StoreKind& kind : kStores) known += " " + std::string(kind.scheme) + "://";
  return failure("store \"" + std::string(url) + "\": this version knows" + known);
}

}  // namespace suimon
