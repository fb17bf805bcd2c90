#include "suimon/engine/corrections.h"

#include <algorithm>
#include <string>

namespace suimon {

// Everything that one call needs until its answer has run.
struct Corrections::Work {
  std::shared_ptr<const Policy> policy;  // what the rest points into
  const Ruleset* ruleset = nullptr;
  Matched matched;
  Charged charged;  // what of it is corrected
  std::array<Decision, kMostCharges> decisions;
  Group group;
  Heard heard;
};

namespace {

constexpr std::string_view kBadPath =
    "attributes.path cannot be decoded; send it as it stood in the request, beginning with /";

// More tokens than any limit may hold.
constexpr std::uint64_t kEverything = std::uint64_t{1} << 60;

// A few names, so that an error does not grow with the policy.
template <class List, class Name>
std::string named(const List& list, Name&& name) {
  constexpr std::size_t kNamed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamed, list.size()); ++i) {
    text += (i == 0 ? "" : ", ") + name(list[i]);
  }
  return list.size() > kNamed ? text + " ..." : text;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 64;
  return "\"" + std::string(text.substr(0, kShown)) + (text.size() > kShown ? "...\"" : "\"");
}

Result<const Ruleset*> find_domain(const Policy& policy, std::string_view domain) {
  if (const Ruleset* ruleset = policy.find(domain)) return ruleset;
  return failure(
      "domain: " + (domain.empty() ? "several are loaded" : shown(domain) + " is not loaded") +
      "; write one of " +
      named(policy.rulesets, [](const Ruleset& ruleset) { return ruleset.domain; }));
}

// The limit as if it stood alone and applied to everybody who has its key.
Ruleset alone(const Ruleset& ruleset, const LimitRule& rule) {
  Ruleset one;
  one.domain = ruleset.domain;
  one.client_ip = ruleset.client_ip;
  one.attributes = ruleset.attributes;
  one.aliases = ruleset.aliases;
  LimitRule& copy = one.limits.emplace_back(rule);
  copy.match.clear();
  copy.cost.clear();
  copy.shadow = false;
  if (copy.on_missing == OnMissing::skip) copy.on_missing = OnMissing::deny;  // so that it is named
  return one;
}

Result<const Bucket*> find_tier(const LimitRule& rule, std::string_view tier) {
  if (tier.empty()) return &rule.buckets.front();
  for (const Bucket& bucket : rule.buckets) {
    if (bucket.tier == tier) return &bucket;
  }
  if (!rule.tier_from) return failure("tier: the limit " + rule.name + " has none; leave it out");
  return failure("tier: " + shown(tier) + " is none of the limit " + rule.name + "; write one of " +
                 named(rule.buckets, [](const Bucket& bucket) { return bucket.tier; }));
}

}  // namespace

Result<void> Corrections::refund(const Request& request, Heard heard) {
  auto work = std::make_unique<Work>();
  work->policy = live_.current();
  const auto ruleset = find_domain(*work->policy, request.domain);
  if (!ruleset) return tl::unexpected(ruleset.error());
  work->ruleset = *ruleset;
  if (request.cost == 0) return failure("cost: 0 was never charged; write the request's own cost");
  Matched& matched = work->matched;
  work->ruleset->match(request, matched, scratch_);
  if (matched.status == Matched::Status::bad_path) return failure(std::string(kBadPath));
  if (matched.status == Matched::Status::too_many_limits) {
    return failure("more than 16 limits apply to this request, so it was never charged");
  }
  Charged& charged = work->charged;
  charged = matched.enforced;
  if (charged.size > charged.charged) {
    const Applied& refusing = charged.applied[charged.charged];
    return failure("attributes." + *refusing.missing + " is missing, so the limit " +
                   refusing.rule->name + " refused this request and nothing was charged");
  }
  for (std::size_t i = 0; i < charged.charged; ++i) {
    const Applied& applied = charged.applied[i];
    if (charged.charges[i].amount > applied.bucket->parameters.capacity) {
      return failure("cost: " + std::to_string(charged.charges[i].amount) +
                     " tokens are above the capacity of the limit " + applied.rule->name +
                     ", so this request was never charged");
    }
  }
  // A shadow was charged unless it would have refused, which nobody remembers.
  for (std::size_t i = 0; i < matched.shadows.charged; ++i) {
    const Applied& applied = matched.shadows.applied[i];
    const Charge& charge = matched.shadows.charges[i];
    if (charge.amount > applied.bucket->parameters.capacity) continue;
    charged.applied[charged.charged] = applied;
    charged.charges[charged.charged++] = charge;
  }
  for (std::size_t i = 0; i < charged.charged; ++i) charged.charges[i].op = Op::give_back;
  work->heard = std::move(heard);
  take(std::move(work));
  return {};
}

Result<std::unique_ptr<Corrections::Work>> Corrections::find(const KeyName& name) {
  auto work = std::make_unique<Work>();
  work->policy = live_.current();
  const auto ruleset = find_domain(*work->policy, name.domain);
  if (!ruleset) return tl::unexpected(ruleset.error());
  work->ruleset = *ruleset;
  const std::vector<LimitRule>& limits = work->ruleset->limits;
  const auto rule = std::find_if(limits.begin(), limits.end(), [&](const LimitRule& candidate) {
    return candidate.name == name.limit;
  });
  if (rule == limits.end()) {
    return failure("limit: " + shown(name.limit) + " is none of the domain " +
                   work->ruleset->domain + "; write one of " +
                   named(limits, [](const LimitRule& limit) { return limit.name; }));
  }
  Charged& charged = work->charged;
  if (name.hash) {
    const auto bucket = find_tier(*rule, name.tier);
    if (!bucket) return tl::unexpected(bucket.error());
    charged.size = charged.charged = 1;
    charged.applied[0] = {&*rule, *bucket, nullptr, 1};
    charged.charges[0] = {
        .key = *name.hash, .shape = (*bucket)->shape, .keyless = rule->key.empty()};
    return work;
  }
  const Ruleset one = alone(*work->ruleset, *rule);
  one.match({name.domain, name.attributes, 1}, work->matched, scratch_);
  if (work->matched.status == Matched::Status::bad_path) return failure(std::string(kBadPath));
  charged = work->matched.enforced;
  if (charged.charged == 0) {
    return failure("attributes." + *charged.applied[0].missing +
                   " is missing, and it is a part of the key of the limit " + rule->name);
  }
  // `one` goes; the same limit in the policy stays.
  const auto place = charged.applied[0].bucket - one.limits.front().buckets.data();
  charged.applied[0].rule = &*rule;
  charged.applied[0].bucket = &rule->buckets[static_cast<std::size_t>(place)];
  return work;
}

Result<void> Corrections::look(const KeyName& name, Heard heard) {
  auto work = find(name);
  if (!work) return tl::unexpected(work.error());
  (*work)->charged.charges[0].op = Op::peek;
  (*work)->heard = std::move(heard);
  take(std::move(*work));
  return {};
}

Result<void> Corrections::reset(const KeyName& name, Heard heard) {
  auto work = find(name);
  if (!work) return tl::unexpected(work.error());
  // A bucket may owe more than its capacity, as after a change of its limit.
  (*work)->charged.charges[0].op = Op::give_back;
  (*work)->charged.charges[0].amount = kEverything;
  (*work)->heard = std::move(heard);
  take(std::move(*work));
  return {};
}

void Corrections::take(std::unique_ptr<Work> work) {
  const auto done = [](void* context, const Result<void>& result) {
    const std::unique_ptr<Work> over(static_cast<Work*>(context));
    const std::size_t count = over->charged.charged;
    over->heard({.ruleset = over->ruleset,
                 .applied = {over->charged.applied.data(), count},
                 .charges = {over->charged.charges.data(), count},
                 .decisions = {over->decisions.data(), count},
                 .failed = !result});
  };
  const std::size_t count = work->charged.charged;
  work->group = {{work->charged.charges.data(), count}, {work->decisions.data(), count}};
  Work* const under_way = work.release();
  if (count == 0) return done(under_way, {});
  store_.take({&under_way->group, 1}, clock_.now(), {done, under_way});
}

}  // namespace suimon
