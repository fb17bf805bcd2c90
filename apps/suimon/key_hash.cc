// suimon key-hash: under which hashes the limits know a client.

#include "apps/suimon/commands.h"
#include "apps/suimon/print.h"
#include "apps/suimon/secret.h"
#include "apps/suimon/trial.h"
#include "suimon/core/key_text.h"
#include "suimon/policy/explain.h"
#include "suimon/policy/loader.h"

namespace suimon::app {
namespace {

// Prints "limit  hash" for every limit whose key is given; `note` tells two secrets apart. Under
// another secret than the daemon's nothing would be found, so which one it is stands beside.
int print_hashes(const std::string& config, const std::string& secret_file, const Asked& asked,
                 std::string_view note) {
  const auto secret = load_secret(secret_file);
  if (!secret) {
    app::print(stderr, "{}; write --secret-file with the one that serve hashes under\n",
               secret.error().text);
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
  if (!any) {
    app::print(stderr, "no limit has a key of these attributes alone\n");
    return kWrongUsage;
  }
  app::print(stderr, "hashed under the secret in {}\n", secret_file);
  return kGood;
}

// The first that is named.
std::string first_of(const std::string& flag, const std::string& file, const std::string& rest) {
  return !flag.empty() ? flag : !file.empty() ? file : rest;
}

}  // namespace

int key_hash(const KeyHashOptions& options) {
  keep_memory_private();
  const auto asked = read_asked(options.attributes);
  if (!asked) return kWrongUsage;
  // Its mistakes are told when it is put on trial.
  const StoreSettings store = load_policy(options.config).policy.settings.store;
  const std::string path = first_of(options.secret_file, store.secret_file, default_secret_path());
  if (path.empty()) {
    app::print(stderr, "neither STATE_DIRECTORY nor HOME is set; write --secret-file FILE\n");
    return kWrongUsage;
  }
  const std::string previous =
      first_of(options.previous_secret_file, store.previous_secret_file, "");
  const int code = print_hashes(options.config, path, *asked, "");
  if (code != kGood || previous.empty()) return code;
  return print_hashes(options.config, previous, *asked, " previous");
}

}  // namespace suimon::app
