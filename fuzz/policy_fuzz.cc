// Any bytes as a policy file: the loader answers with a policy that can be kept, or with mistakes
// that say where.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "suimon/limit.h"
#include "suimon/policy/loader.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_printable(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return false;
  }
  return !text.empty();
}

void check_rule(const suimon::Ruleset& rules, const suimon::LimitRule& rule) {
  require(!rule.name.empty());
  require(!rule.buckets.empty());
  for (const suimon::Bucket& bucket : rule.buckets) {
    require(suimon::validate(bucket.parameters).has_value());
  }
  for (const suimon::AttributeId id : rule.key) require(id < rules.attributes.size());
  for (const suimon::Matcher& matcher : rule.match) {
    require(matcher.attribute < rules.attributes.size());
    require(!matcher.globs.empty() || !matcher.paths.empty());
  }
  if (rule.tier_from) require(*rule.tier_from < rules.attributes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const suimon::Loaded loaded = suimon::load_policy_text(text, "f");
  require(loaded.mistakes.size() <= 100 && loaded.warnings.size() <= 100);
  for (const auto* list : {&loaded.mistakes, &loaded.warnings}) {
    for (const suimon::Mistake& mistake : *list) {
      require(mistake.line > 0 && mistake.column > 0);
      require(is_printable(mistake.text));
    }
  }
  if (!loaded.ok()) return 0;
  require(loaded.policy.rulesets.size() == 1);
  const suimon::Ruleset& rules = loaded.policy.rulesets.front();
  require(!rules.domain.empty() && !rules.limits.empty());
  require(rules.attributes.size() <= suimon::Ruleset::kMostAttributes);
  for (const suimon::LimitRule& rule : rules.limits) check_rule(rules, rule);
  return 0;
}
