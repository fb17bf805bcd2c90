#include "suimon/policy/explain.h"

#include "suimon/policy/matching.h"

namespace suimon {
namespace {

using matching::Values;

ExplainedMatcher explained(const Ruleset& ruleset, const Matcher& matcher, const Values& values) {
  ExplainedMatcher told;
  told.attribute = ruleset.attributes[matcher.attribute];
  told.value = values.of[matcher.attribute];
  told.patterns = matcher.globs;
  for (const PathPattern& path : matcher.paths) told.patterns.push_back(path.text());
  told.matches = matching::matches(matcher, values);
  return told;
}

ExplainedLimit explained(const Ruleset& ruleset, const LimitRule& rule, const Values& values,
                         std::string& encoded) {
  ExplainedLimit told;
  told.rule = &rule;
  for (const Matcher& matcher : rule.match) {
    told.match.push_back(explained(ruleset, matcher, values));
  }
  for (const AttributeId part : rule.key) {
    const bool stands_in = !values.has(part) && rule.on_missing == OnMissing::substitute;
    told.key.emplace_back(ruleset.attributes[part],
                          stands_in ? std::string_view(rule.substitute) : values.of[part]);
  }
  const auto lacking = matching::encode_key(rule, values, encoded);
  if (lacking) {
    told.missing = ruleset.attributes[*lacking];
  } else {
    told.hash = key_of(rule.hash, encoded);
  }
  told.bucket = &matching::bucket_of(rule, values);
  if (rule.tier_from) {
    told.tier_attribute = ruleset.attributes[*rule.tier_from];
    told.tier_asked = values.of[*rule.tier_from];
  }
  told.cost_rule = matching::cost_rule_of(rule, values);
  if (told.cost_rule != nullptr) told.cost = told.cost_rule->value;

  using Why = ExplainedLimit::Why;
  if (!matching::matches_all(rule.match, values)) {
    told.why = Why::mismatch;
  } else if (told.cost == 0) {
    told.why = Why::free;
  } else if (lacking) {
    told.why = rule.on_missing == OnMissing::skip ? Why::skipped : Why::denied;
  }
  return told;
}

}  // namespace

std::optional<std::vector<ExplainedLimit>> explain(const Ruleset& ruleset, const Request& request) {
  Values values;
  MatchScratch scratch;
  if (!matching::read_values(ruleset, request, values, scratch)) return std::nullopt;
  std::vector<ExplainedLimit> limits;
  limits.reserve(ruleset.limits.size());
  for (const LimitRule& rule : ruleset.limits) {
    limits.push_back(explained(ruleset, rule, values, scratch.key));
  }
  return limits;
}

}  // namespace suimon
