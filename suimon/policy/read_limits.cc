// The limits of a policy file.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "suimon/policy/guess.h"
#include "suimon/policy/reading.h"
#include "suimon/policy/vocabulary.h"

namespace suimon {
namespace {

constexpr std::string_view kLimitExample =
    "- {name: per-address, key: [client_ip], token_bucket: {capacity: 10, refill: 1/s}}";
constexpr std::string_view kBucketExample = "token_bucket: {capacity: 10, refill: 1/s}";
constexpr std::string_view kTierExample = "token_bucket: {tier: {from: plan, default: free}}";

void read_key(const Node& node, LimitRule& rule, Reading& reading) {
  Mistakes& mistakes = reading.mistakes;
  if (node.is_scalar()) {
    mistakes.add(node.at, "key: " + shown(node.text) + " is not a list; write " +
                              shown("key: [" + node.text + "]"));
    return;
  }
  if (!is_sequence(node, "key", "key: [client_ip] (key: [] means one bucket for everybody)",
                   mistakes)) {
    return;
  }
  if (node.items.size() > kMostKeyParts) {
    mistakes.add(node.at, "key: more than 8 attributes");
    return;
  }
  for (const Node& item : node.items) {
    const auto name = text_of(item, "key", "key: [client_ip]", mistakes);
    const auto id = name ? attribute_id(*name, item.at, reading) : std::nullopt;
    if (!id) continue;
    if (std::find(rule.key.begin(), rule.key.end(), *id) != rule.key.end()) {
      mistakes.add(item.at, "key: " + shown(*name) + " is here twice; keep one");
      continue;
    }
    rule.key.push_back(*id);
  }
}

void read_on_missing(const Node& node, LimitRule& rule, Mistakes& mistakes) {
  constexpr std::string_view kChoices = "skip, deny or {value: anonymous}";
  if (node.is_mapping()) {
    check_keys(node, kOnMissingWords, mistakes);
    const Entry* value = required(node, "value", kOnMissingWords,
                                  "on_missing: no value; write " + std::string(kChoices), mistakes);
    const auto text = value != nullptr
                          ? text_of(value->value, "value", "value: anonymous", mistakes)
                          : std::nullopt;
    if (text) rule.substitute = *text;
    rule.on_missing = OnMissing::substitute;
  } else if (node.is_scalar() && node.text == "skip") {
    rule.on_missing = OnMissing::skip;
  } else if (node.is_scalar() && node.text == "deny") {
    rule.on_missing = OnMissing::deny;
  } else if (node.is_scalar()) {
    mistakes.add(node.at,
                 "on_missing: " + shown(node.text) + " is unknown; write " + std::string(kChoices));
  } else if (!node.is_refused()) {
    mistakes.add(node.at, "on_missing: write " + std::string(kChoices));
  }
}

// One bucket for every tier, the default first.
std::vector<Bucket> read_tier_choice(const Node& node, LimitRule& rule, Reading& reading) {
  Mistakes& mistakes = reading.mistakes;
  std::vector<Bucket> buckets;
  if (!is_mapping(node, "tier", kTierExample, mistakes)) return buckets;
  check_keys(node, kTierChoiceWords, mistakes);
  const Entry* from =
      required(node, "from", kTierChoiceWords,
               "tier has no from; write from: plan, the attribute that names the tier", mistakes);
  const Entry* fallback = required(
      node, "default", kTierChoiceWords,
      "tier has no default; write default: free, the tier of those who name none", mistakes);
  if (from != nullptr) {
    const auto name = text_of(from->value, "from", "from: plan", mistakes);
    if (name) rule.tier_from = attribute_id(*name, from->value.at, reading);
  }
  if (fallback == nullptr) return buckets;
  const auto name = text_of(fallback->value, "default", "default: free", mistakes);
  // Advice among many tiers for each of many limits would cost seconds that nobody sees.
  if (!name || !reading.tiers_readable || mistakes.full()) return buckets;
  const auto& tiers = reading.tiers;
  const auto first = std::find_if(tiers.begin(), tiers.end(),
                                  [&](const Tier& tier) { return tier.name == *name; });
  if (first == tiers.end()) {
    const std::vector<std::string_view> names = [&] {
      std::vector<std::string_view> all;
      all.reserve(tiers.size());
      for (const Tier& tier : tiers) all.push_back(tier.name);
      return all;
    }();
    mistakes.add(fallback->value.at,
                 "default: there is no tier " + shown(*name) + "; " +
                     (names.empty() ? "write it under tiers: at the top of the file"
                                    : advice(*name, names)));
    return buckets;
  }
  for (const Tier& tier : tiers) {
    if (!tier.parameters) return {};  // said where the tier stands
    const auto where = tier.name == first->name ? buckets.begin() : buckets.end();
    buckets.insert(where, Bucket{.tier = tier.name, .parameters = *tier.parameters});
  }
  return buckets;
}

std::vector<Bucket> read_token_bucket(const Node& node, LimitRule& rule, Reading& reading) {
  Mistakes& mistakes = reading.mistakes;
  if (!is_mapping(node, "token_bucket", kBucketExample, mistakes)) return {};
  check_keys(node, kBucketWords, mistakes);
  const Entry* tier = node.find("tier");
  if (tier == nullptr) {
    const auto limit = read_parameters(node, kBucketWords, mistakes);
    if (!limit) return {};
    return {Bucket{.tier = "", .parameters = *limit}};
  }
  for (const std::string_view own : {"capacity", "refill"}) {
    if (const Entry* entry = node.find(own)) {
      mistakes.add(entry->at, shown(own) +
                                  " and `tier` exclude each other; the tiers bring their "
                                  "own");
    }
  }
  return read_tier_choice(tier->value, rule, reading);
}

// What callers see of the limit.
void read_showing(const Node& node, LimitRule& rule, Mistakes& mistakes) {
  if (const Entry* title = node.find("title")) rule.titles = read_title(title->value, mistakes);
  if (const Entry* advertise = node.find("advertise")) {
    rule.advertise = read_flag(advertise->value, "advertise", mistakes).value_or(rule.advertise);
  }
  const Entry* shadow = node.find("shadow");
  if (shadow != nullptr) {
    rule.shadow = read_flag(shadow->value, "shadow", mistakes).value_or(false);
  }
  const Entry* deny = node.find("deny");
  if (deny == nullptr) return;
  rule.deny_status = read_deny(deny->value, mistakes);
  if (rule.shadow) {
    mistakes.warn(deny->at, "`deny` does nothing while shadow: true refuses nobody");
  }
}

LimitRule read_limit(const Node& node, Reading& reading) {
  Mistakes& mistakes = reading.mistakes;
  LimitRule rule;
  check_keys(node, kLimitWords, mistakes);
  if (const Entry* name =
          required(node, "name", kLimitWords,
                   "this limit has no name; write for example name: per-address", mistakes)) {
    const auto text = text_of(name->value, "name", "name: per-address", mistakes);
    if (text && check_name(*text, NameCase::lower, "name", name->value.at, mistakes)) {
      rule.name = *text;
    }
  }
  if (const Entry* key =
          required(node, "key", kLimitWords,
                   "this limit has no key; write for example key: [client_ip] (key: [] means one "
                   "bucket for everybody)",
                   mistakes)) {
    read_key(key->value, rule, reading);
  }
  // What is left for everybody together is nobody's business.
  rule.advertise = !rule.key.empty();
  read_showing(node, rule, mistakes);
  if (const Entry* missing = node.find("on_missing")) {
    read_on_missing(missing->value, rule, mistakes);
  }
  if (const Entry* error = node.find("on_store_error")) {
    const auto choice = read_word(error->value, "on_store_error", kOnStoreErrorNames, mistakes);
    if (choice) rule.on_store_error = static_cast<OnStoreError>(*choice);
  }
  if (const Entry* match = node.find("match")) rule.match = read_match(match->value, reading);
  rule.buckets = read_buckets(node, rule, reading);
  if (const Entry* cost = node.find("cost")) {
    rule.cost = read_cost(cost->value, rule.buckets, reading);
  }
  return rule;
}

// A name that limits look at is probably a slip when it is nearly one that the file declares, and
// in a file that declares some, one that it does not is worth a word: no proxy's request brings it.
void doubt_attributes(const Reading& reading, std::size_t declared_in_file) {
  const auto& attributes = reading.ruleset.attributes;
  const auto built_in = built_in_attributes();
  std::vector<std::string_view> declared(built_in.begin(), built_in.end());
  declared.insert(declared.end(), attributes.begin(),
                  attributes.begin() + static_cast<std::ptrdiff_t>(declared_in_file));
  for (std::size_t id = declared_in_file; id < attributes.size(); ++id) {
    const std::string& name = attributes[id];
    if (std::find(declared.begin(), declared.end(), name) != declared.end()) continue;
    const auto meant = probably_meant(name, declared);
    if (!meant && declared_in_file == 0) continue;
    reading.mistakes.warn(reading.first_named[id],
                          shown(name) +
                              " is not under attributes:, so only a caller who names it brings it" +
                              (meant ? "; did you mean " + shown(*meant) + "?" : ""));
  }
}

}  // namespace

std::vector<Bucket> read_buckets(const Node& limit, LimitRule& rule, Reading& reading) {
  Mistakes& mistakes = reading.mistakes;
  const Entry* bucket = limit.find("token_bucket");
  const Entry* preset = limit.find("preset");
  if (bucket != nullptr && preset != nullptr) {
    mistakes.add(preset->at, "`preset` and `token_bucket` exclude each other; keep one");
  }
  if (bucket != nullptr) return read_token_bucket(bucket->value, rule, reading);
  if (preset == nullptr) {
    required(limit, "token_bucket", kLimitWords,
             "this limit has no token_bucket and no preset; write for example " +
                 std::string(kBucketExample),
             mistakes);
    return {};
  }
  const auto name = text_of(preset->value, "preset", "preset: payment-gateway", mistakes);
  if (!name) return {};
  const auto parameters = find_preset(*name);
  if (!parameters) {
    mistakes.add(preset->value.at,
                 "preset: there is no " + shown(*name) + "; " + advice(*name, preset_names()));
    return {};
  }
  return {Bucket{.tier = "", .parameters = *parameters}};
}

void read_limits(const Node& node, Reading& reading) {
  Mistakes& mistakes = reading.mistakes;
  if (!is_sequence(node, "limits", kLimitExample, mistakes)) return;
  if (node.items.empty()) {
    mistakes.add(node.at, "limits: a policy needs at least one limit; write for example " +
                              std::string(kLimitExample));
  }
  if (node.items.size() > kMostLimits) {
    mistakes.add(node.at, "limits: more than 1,000; divide the file, by domain");
    return;
  }
  const std::size_t declared = reading.ruleset.attributes.size();
  std::unordered_map<std::string, Place> names;
  std::size_t everywhere = 0;
  std::size_t shapes = 0;
  for (const Node& item : node.items) {
    if (!is_mapping(item, "limits", kLimitExample, mistakes)) continue;
    LimitRule rule = read_limit(item, reading);
    if (!rule.name.empty()) {
      const Place at = item.find("name")->value.at;
      const auto [first, fresh] = names.emplace(rule.name, at);
      if (!fresh) {
        mistakes.add(at, "name: " + shown(rule.name) + " is the name of the limit at " +
                             to_string(first->second) + " already; choose another");
      }
    }
    everywhere += rule.match.empty() ? 1 : 0;
    shapes += rule.buckets.size();
    reading.ruleset.limits.push_back(std::move(rule));
  }
  doubt_attributes(reading, declared);
  if (everywhere > kMostCharges) {
    mistakes.warn(node.at, "limits: " + std::to_string(everywhere) +
                               " of them have no match, and a request that brings the keys of "
                               "more than 16 is refused as an error; give them a match");
  }
  if (shapes > Shapes::kMost) {
    mistakes.add(node.at, "limits: with their tiers these are " + std::to_string(shapes) +
                              " buckets, and the most is 16,384; use fewer tiers");
  }
}

}  // namespace suimon
