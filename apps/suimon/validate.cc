
#include "apps/suimon/commands.h"
#include "apps/suimon/load.h"
#include "apps/suimon/print.h"
#include "apps/suimon/settings.h"

namespace suimon::app {

int validate(const std::string& path) {
  const auto policy = load_or_explain(path);
  if (!policy) return kWrongUsage;
  if (const auto read = readable(policy->settings); !read) {
    app::print(stderr, "{}: {}\n", path, read.error().text);
    return kWrongUsage;
  }
  for (const Ruleset& ruleset : policy->rulesets) {
    app::print(stdout, "{}: domain {}, {} limit{}: good\n", path, ruleset.domain,
               ruleset.limits.size(), ruleset.limits.size() == 1 ? "" : "s");
  }
  return kGood;
}

}  // namespace suimon::app
