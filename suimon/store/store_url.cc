#include "suimon/store/store_url.h"

#include <string>

#include "suimon/base/text.h"

namespace suimon {

Result<StoreUrl> parse_store_url(std::string_view text) {
  constexpr std::string_view kMark = "://";
  constexpr std::string_view kMaxKeys = "max_keys=";
  const auto mark = text.find(kMark);
  if (mark == std::string_view::npos || mark == 0) {
    return failure("store \"" + std::string(text) + "\": write a URL such as memory://");
  }
  StoreUrl url{.scheme = text.substr(0, mark)};
  std::string_view parameters = text.substr(mark + kMark.size());
  if (parameters.starts_with('?')) parameters.remove_prefix(1);
  if (parameters.empty()) return url;
  const std::string_view number =
      parameters.starts_with(kMaxKeys) ? parameters.substr(kMaxKeys.size()) : std::string_view{};
  const auto keys = parse_number<std::uint64_t>(number);
  if (!keys || *keys == 0 || *keys > std::uint64_t{1} << 32) {
    const std::string right = std::string(url.scheme) + "://?";
    return failure("store " + std::string(text) + ": write " + right +
                   "max_keys=N with N from 1 to 4294967296");
  }
  url.max_keys = *keys;
  return url;
}

}  // namespace suimon
