#include "suimon/store/stores.h"

#include <charconv>
#include <string>

#include "suimon/store/reference.h"

namespace suimon {
namespace {

Result<std::unique_ptr<Store>> open_memory(std::string_view parameters) {
  constexpr std::string_view kMaxKeys = "max_keys=";
  ReferenceStore::Options options;
  if (!parameters.empty()) {
    const std::string_view number =
        parameters.starts_with(kMaxKeys) ? parameters.substr(kMaxKeys.size()) : std::string_view{};
    const char* const end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, options.max_keys);
    if (number.empty() || error != std::errc{} || stop != end || options.max_keys == 0 ||
        options.max_keys > std::uint64_t{1} << 32) {
      return failure("store memory://?" + std::string(parameters) +
                     ": write memory://?max_keys=N with N from 1 to 4294967296");
    }
  }
  return std::make_unique<ReferenceStore>(options);
}

constexpr StoreKind kStores[] = {
    {"memory", open_memory},
};

}  // namespace

std::span<const StoreKind> registered_stores() { return kStores; }

Result<std::unique_ptr<Store>> open_store(std::string_view url) {
  const auto colon = url.find("://");
  for (const StoreKind& kind : kStores) {
    if (colon == std::string_view::npos || url.substr(0, colon) != kind.scheme) continue;
    std::string_view rest = url.substr(colon + 3);
    if (!rest.empty() && rest.front() == '?') rest.remove_prefix(1);
    return kind.open(rest);
  }
  std::string known;
  for (const StoreKind& kind : kStores) known += " " + std::string(kind.scheme) + "://";
  return failure("store \"" + std::string(url) + "\": this version knows" + known);
}

}  // namespace suimon
