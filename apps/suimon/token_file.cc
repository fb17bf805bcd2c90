#include "apps/suimon/token_file.h"

#include <fmt/core.h>

#include "apps/suimon/private_file.h"

namespace suimon::app {

Result<door::AdminTokens> load_admin_tokens(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 10;
  if (path.empty()) return door::AdminTokens();
  const auto text = read_private_file("admin token file", path, kMostBytes);
  if (!text) return tl::unexpected(text.error());
  auto tokens = door::AdminTokens::parse(*text);
  if (!tokens) return failure(fmt::format("admin token file {}: {}", path, tokens.error().text));
  return tokens;
}

}  // namespace suimon::app
