#include "suimon/engine/policy_changes.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "suimon/policy/quantity.h"

namespace suimon {
namespace {

// One limit and where it stands: the numbers of attributes mean something only there.
struct Place {
  const Ruleset* ruleset = nullptr;
  const LimitRule* rule = nullptr;
};

using Limits = std::map<std::string, Place>;
using Domains = std::map<std::string, const Ruleset*>;

Domains domains_of(const Policy* policy) {
  Domains all;
  if (policy == nullptr) return all;
  for (const Ruleset& ruleset : policy->rulesets) all[ruleset.domain] = &ruleset;
  return all;
}

Limits limits_of(const Policy* policy) {
  Limits all;
  for (const auto& [domain, ruleset] : domains_of(policy)) {
    for (const LimitRule& rule : ruleset->limits) all[domain + "/" + rule.name] = {ruleset, &rule};
  }
  return all;
}

std::string shown(bool value) { return value ? "true" : "false"; }
std::string shown(std::uint64_t value) { return std::to_string(value); }
std::string shown(const Rate& rate) { return rate_text(rate); }
std::string shown(const std::string& text) { return text.empty() ? "none" : text; }
std::string shown(const std::optional<int>& status) {
  return status ? std::to_string(*status) : "none";
}

// Adds "word old -> new" where the two differ.
template <class T>
void compare(std::vector<std::string>& what, const std::string& word, const T& before,
             const T& after) {
  if (before == after) return;
  what.push_back(word + " " + shown(before) + " -> " + shown(after));
}

// Adds only the word where the two differ and are too long to be told.
template <class T>
void compare_long(std::vector<std::string>& what, const std::string& word, const T& before,
                  const T& after) {
  if (!(before == after)) what.push_back(word);
}

std::string key_text(const Place& place) {
  std::string text = "[";
  for (const AttributeId id : place.rule->key) {
    if (text.size() > 1) text += ", ";
    text += place.ruleset->attributes[id];
  }
  return text + "]";
}

std::string tier_source(const Place& place) {
  return place.rule->tier_from ? place.ruleset->attributes[*place.rule->tier_from] : "";
}

std::string on_missing_text(const LimitRule& rule) {
  switch (rule.on_missing) {
    case OnMissing::skip:
      return "skip";
    case OnMissing::deny:
      return "deny";
    case OnMissing::substitute:
      return "{value: " + rule.substitute + "}";
  }
  return {};
}

// Matchers with the names of their attributes, in the order of those.
using Matching =
    std::vector<std::tuple<std::string, std::vector<std::string>, std::vector<PathPattern>>>;

Matching matching_of(const Ruleset& ruleset, const std::vector<Matcher>& matchers) {
  Matching all;
  for (const Matcher& matcher : matchers) {
    all.emplace_back(ruleset.attributes[matcher.attribute], matcher.globs, matcher.paths);
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
  return all;
}

std::vector<std::pair<Matching, std::uint64_t>> costs_of(const Place& place) {
  std::vector<std::pair<Matching, std::uint64_t>> all;
  all.reserve(place.rule->cost.size());
  for (const CostRule& cost : place.rule->cost) {
    all.emplace_back(matching_of(*place.ruleset, cost.match), cost.value);
  }
  return all;
}

std::vector<std::pair<std::string, std::string>> sources_of(const Ruleset& ruleset) {
  std::vector<std::pair<std::string, std::string>> all;
  all.reserve(ruleset.sources.size());
  for (const AttributeSource& source : ruleset.sources) {
    all.emplace_back(ruleset.attributes[source.attribute], source.header);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::pair<std::string, std::string>> aliases_of(const Ruleset& ruleset) {
  std::vector<std::pair<std::string, std::string>> all;
  all.reserve(ruleset.aliases.size());
  for (const Alias& alias : ruleset.aliases) {
    all.emplace_back(alias.name, ruleset.attributes[alias.attribute]);
  }
  std::sort(all.begin(), all.end());
  return all;
}

void compare_buckets(std::vector<std::string>& what, const LimitRule& before,
                     const LimitRule& after) {
  const auto find = [](const LimitRule& rule, const std::string& tier) {
    return std::find_if(rule.buckets.begin(), rule.buckets.end(),
                        [&](const Bucket& bucket) { return bucket.tier == tier; });
  };
  const auto title = [](const Bucket& bucket) {
    return bucket.tier.empty() ? std::string("without tiers") : "tier " + bucket.tier;
  };
  for (const Bucket& bucket : after.buckets) {
    const auto old = find(before, bucket.tier);
    if (old == before.buckets.end()) {
      what.push_back(title(bucket) + " added");
      continue;
    }
    const std::string prefix = bucket.tier.empty() ? "" : "tier " + bucket.tier + " ";
    compare(what, prefix + "capacity", old->parameters.capacity, bucket.parameters.capacity);
    compare(what, prefix + "refill", old->parameters.refill, bucket.parameters.refill);
  }
  for (const Bucket& bucket : before.buckets) {
    if (find(after, bucket.tier) == after.buckets.end()) what.push_back(title(bucket) + " removed");
  }
  if (before.buckets.size() > 1 || after.buckets.size() > 1) {
    compare(what, "default tier", before.buckets.front().tier, after.buckets.front().tier);
  }
}

Change compare_limits(const std::string& name, const Place& before, const Place& after) {
  const LimitRule& old = *before.rule;
  const LimitRule& now = *after.rule;
  Change change{name, {}};
  auto& what = change.what;
  compare_long(what, "algorithm", old.algorithm, now.algorithm);
  compare_buckets(what, old, now);
  compare(what, "key", key_text(before), key_text(after));
  compare(what, "tier from", tier_source(before), tier_source(after));
  compare_long(what, "match", matching_of(*before.ruleset, old.match),
               matching_of(*after.ruleset, now.match));
  compare_long(what, "cost", costs_of(before), costs_of(after));
  compare(what, "on_missing", on_missing_text(old), on_missing_text(now));
  const auto store_error = [](const LimitRule& rule) {
    return std::string(kOnStoreErrorNames[static_cast<std::size_t>(rule.on_store_error)]);
  };
  compare(what, "on_store_error", store_error(old), store_error(now));
  compare(what, "advertise", old.advertise, now.advertise);
  compare(what, "shadow", old.shadow, now.shadow);
  compare(what, "deny status", old.deny_status, now.deny_status);
  compare_long(what, "title", old.titles, now.titles);
  return change;
}

Change compare_domains(const Ruleset& before, const Ruleset& after) {
  Change change{after.domain, {}};
  compare_long(change.what, "client_ip", before.client_ip, after.client_ip);
  compare_long(change.what, "attributes", sources_of(before), sources_of(after));
  compare_long(change.what, "aliases", aliases_of(before), aliases_of(after));
  compare_long(change.what, "responses", before.answers, after.answers);
  return change;
}

}  // namespace

std::string Change::to_string() const {
  std::string text = name;
  for (const std::string& part : what) text += (&part == &what.front() ? ": " : ", ") + part;
  return text;
}

PolicyChanges changes_between(const Policy* before, const Policy& after) {
  const Limits old_limits = limits_of(before);
  const Limits new_limits = limits_of(&after);
  PolicyChanges changes;
  for (const auto& [name, place] : new_limits) {
    const auto old = old_limits.find(name);
    if (old == old_limits.end()) {
      changes.added.push_back(name);
      continue;
    }
    Change change = compare_limits(name, old->second, place);
    if (change.what.empty()) {
      ++changes.unchanged;
    } else {
      changes.changed.push_back(std::move(change));
    }
  }
  for (const auto& [name, place] : old_limits) {
    if (!new_limits.contains(name)) changes.removed.push_back(name);
  }
  const Domains old_domains = domains_of(before);
  for (const auto& [domain, ruleset] : domains_of(&after)) {
    const auto old = old_domains.find(domain);
    if (old == old_domains.end()) continue;
    Change change = compare_domains(*old->second, *ruleset);
    if (!change.what.empty()) changes.domains.push_back(std::move(change));
  }
  return changes;
}

std::vector<std::string> changed_settings(const Settings& before, const Settings& after) {
  std::vector<std::string> names;
  const auto compare = [&](const char* name, const auto& old, const auto& now) {
    if (!(old == now)) names.emplace_back(name);
  };
  compare("server.http", before.server.http, after.server.http);
  compare("server.grpc", before.server.grpc, after.server.grpc);
  compare("server.resp", before.server.resp, after.server.resp);
  compare("server.admin", before.server.admin, after.server.admin);
  compare("server.threads", before.server.threads, after.server.threads);
  compare("server.tls.cert", before.server.tls.cert, after.server.tls.cert);
  compare("server.tls.key", before.server.tls.key, after.server.tls.key);
  compare("server.tls.client_ca", before.server.tls.client_ca, after.server.tls.client_ca);
  compare("server.timeouts.header", before.server.timeouts.header, after.server.timeouts.header);
  compare("server.timeouts.idle", before.server.timeouts.idle, after.server.timeouts.idle);
  compare("server.timeouts.drain", before.server.timeouts.drain, after.server.timeouts.drain);
  compare("server.admin_token_file", before.server.admin_token_file, after.server.admin_token_file);
  compare("server.resp_password_file", before.server.resp_password_file,
          after.server.resp_password_file);
  compare("store.url", before.store.url, after.store.url);
  compare("store.password_file", before.store.password_file, after.store.password_file);
  compare("store.secret_file", before.store.secret_file, after.store.secret_file);
  compare("store.previous_secret_file", before.store.previous_secret_file,
          after.store.previous_secret_file);
  compare("store.when_full", before.store.when_full, after.store.when_full);
  compare("log.events", before.log.events, after.log.events);
  compare("log.identify", before.log.identify, after.log.identify);
  compare("log.per_second", before.log.per_second, after.log.per_second);
  return names;
}

}  // namespace suimon
