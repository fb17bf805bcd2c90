#include "apps/suimon/load.h"

#include "apps/suimon/print.h"

namespace suimon::app {

std::optional<Policy> load_or_explain(const std::string& path) {
  Loaded loaded = load_policy(path);
  for (const Mistake& warning : loaded.warnings) {
    app::print(stderr, "warning: {}\n", warning.to_string());
  }
  for (const Mistake& mistake : loaded.mistakes) app::print(stderr, "{}\n", mistake.to_string());
  if (!loaded.ok()) return std::nullopt;
  return std::move(loaded.policy);
}

}  // namespace suimon::app
