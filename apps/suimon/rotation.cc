#include "apps/suimon/rotation.h"

#include <fmt/chrono.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>

#include "apps/suimon/secret.h"
#include "suimon/store/stores.h"

namespace suimon::app {
namespace {

// How long the slowest bucket of a policy takes from empty to full, in whole seconds.
std::uint64_t longest_fill(const Policy& policy) {
  double longest = 0;
  for (const Ruleset& ruleset : policy.rulesets) {
    for (const LimitRule& rule : ruleset.limits) {
      for (const Bucket& bucket : rule.buckets) {
        const Rate& refill = bucket.parameters.refill;
        const double tokens = static_cast<double>(bucket.parameters.capacity);
        const double seconds = std::chrono::duration<double>(refill.period).count();
        longest = std::max(longest, tokens * seconds / static_cast<double>(refill.tokens));
      }
    }
  }
  return static_cast<std::uint64_t>(longest) + 1;
}

// With the previous secret, if one is named.
Result<Secrets> with_previous(const Secret& current, const StoreSettings& settings) {
  Secrets secrets{.current = current};
  if (settings.previous_secret_file.empty()) return secrets;
  const auto previous = load_secret(settings.previous_secret_file);
  if (!previous) {
    return failure(previous.error().text +
                   "; let store: {previous_secret_file: ...} name the one before, or leave it out");
  }
  secrets.previous = *previous;
  return secrets;
}

}  // namespace

Result<Secrets> Rotation::start(const StoreSettings& settings) {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): fill_in_defaults() left nothing out
  const StoreKind* const kind = find_store(*settings.url);
  if (kind != nullptr && kind->remote) {
    // A secret of its own would give each daemon buckets of its own.
    if (settings.secret_file.empty()) {
      return failure(
          "a store that many daemons share needs the secret that they share: write --secret-file, "
          "or "
          "store: {secret_file: ...}, the same file for all of them");
    }
    auto secrets = read(settings);
    if (!secrets && ::access(settings.secret_file.c_str(), F_OK) != 0) {
      return failure(secrets.error().text +
                     "; for a store that daemons share none is made by itself: copy that of the "
                     "others, or make the first one with (umask 077; od -An -N16 -tx1 "
                     "/dev/urandom | tr -d ' \\n' > " +
                     settings.secret_file + ")");
    }
    return secrets;
  }
  if (!settings.secret_file.empty()) {
    const auto secret = load_or_make_secret(settings.secret_file);
    if (!secret) return tl::unexpected(secret.error());
    return with_previous(*secret, settings);
  }
  const std::string path = default_secret_path();
  auto secret =
      path.empty() ? failure("neither STATE_DIRECTORY nor HOME is set") : load_or_make_secret(path);
  if (!secret) {
    // State in memory ends with the process anyway, so a secret that ends with it will do.
    spdlog::warn("{}; hashing under a secret for this run only", secret.error().text);
    secret = random_secret();
    of_this_run_ = *secret;
  }
  return with_previous(*secret, settings);
}

Result<Secrets> Rotation::read(const StoreSettings& settings) const {
  if (settings.secret_file.empty() && of_this_run_) return with_previous(*of_this_run_, settings);
  const auto secret =
      load_secret(settings.secret_file.empty() ? default_secret_path() : settings.secret_file);
  if (!secret) return tl::unexpected(secret.error());
  return with_previous(*secret, settings);
}

void Rotation::follow(LivePolicy& policy) {
  policy_ = &policy;
  const std::time_t now = std::time(nullptr);
  const bool begins = policy.is_to_go_on() && !waiting_;
  const bool ends = since_ && (!policy.is_rotating() || begins);
  if (ends && now < safe_at_) {
    spdlog::warn(
        "the previous secret goes {} seconds too early: whoever was limited and has not been "
        "charged under the new one begins with a full bucket",
        safe_at_ - now);
  }
  if (!policy.is_rotating()) {
    if (since_) spdlog::info("the replacement of the secret is over: only the new one counts");
    since_.reset();
    return;
  }
  if (!since_) since_ = now;
  if (begins) safe_at_ = now + static_cast<std::time_t>(longest_fill(*policy.current()));
  spdlog::info(
      "the secret is being replaced, since {:%Y-%m-%dT%H:%M:%SZ}; states under the previous one "
      "are "
      "accepted until previous_secret_file goes, which is safe {} seconds after the last change of "
      "the secret",
      fmt::gmtime(*since_), longest_fill(*policy.current()));
  loop_.timers().cancel(next_);
  waiting_ = policy.is_to_go_on();
  on_timer(loop_.clock().now());
}

void Rotation::on_timer(Instant now) {
  if (!waiting_) return;
  if (!policy_->go_on()) {
    next_ = loop_.timers().add(now + kStep, *this);
    return;
  }
  waiting_ = false;
  told_();
  spdlog::info("all threads hash under the new secret from now on");
}

}  // namespace suimon::app
