// suimon key-hash: under which hashes the limits know a client.

#include "apps/suimon/commands.h"
#include "apps/suimon/print.h"
#include "apps/suimon/secret.h"
#include "apps/suimon/trial.h"
#include "suimon/observe/event_line.h"
#include "suimon/policy/explain.h"

namespace suimon::app {
namespace {

// Prints "limit  hash" for every limit whose key is given; `note` tells two secrets apart.
int print_hashes(const std::string& config, const std::string& secret_file, const Asked& asked,
                 std::string_view note) {
  const auto secret = load_secret(secret_file);
  if (!secret) {
    app::print(stderr, "{}\n", secret.error().text);
    return kWrongUsage;
  }
  const auto trial = Trial::open(config, *secret);
  if (!trial) return kWrongUsage;
  const Ruleset* const ruleset = trial->engine().policy().find(asked.domain);
  if (ruleset == nullptr) {
    app::print(stderr, "{}\n", why_not(Verdict::Status::unknown_domain));
    return kWrongUsage;
  }
  const auto limits = suimon::explain(*ruleset, {asked.domain, asked.attributes, 1});
  if (!limits) {
    app::print(stderr, "{}\n", why_not(Verdict::Status::bad_path));
    return kWrongUsage;
  }
  bool any = false;
  for (const ExplainedLimit& limit : *limits) {
    if (!limit.hash) continue;
    any = true;
    app::print(stdout, "{} {}{}\n", limit.rule->name, key_text(*limit.hash), note);
  }
  if (!any) app::print(stderr, "no limit has a key of these attributes alone\n");
  return kGood;
}

}  // namespace

int key_hash(const KeyHashOptions& options) {
  keep_memory_private();
  const auto asked = read_asked(options.attributes);
  if (!asked) return kWrongUsage;
  const std::string path =
      options.secret_file.empty() ? default_secret_path() : options.secret_file;
  if (path.empty()) {
    app::print(stderr, "neither STATE_DIRECTORY nor HOME is set; write --secret-file FILE\n");
    return kWrongUsage;
  }
  const int code = print_hashes(options.config, path, *asked, "");
  if (code != kGood || options.previous_secret_file.empty()) return code;
  return print_hashes(options.config, options.previous_secret_file, *asked, " previous");
}

}  // namespace suimon::app
