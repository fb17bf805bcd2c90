#include "suimon/door/admin_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "suimon/base/json.h"
#include "suimon/base/text.h"
#include "suimon/core/key_text.h"

namespace suimon::door {
namespace {

template <class... Parts>
void add(std::string& out, fmt::format_string<Parts...> format, Parts&&... parts) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Parts>(parts)...);
}

// [each(list[0]), each(list[1]) ...]
template <class List, class Each>
void append_list(std::string& out, const List& list, Each&& each) {
  out += '[';
  bool first = true;
  for (const auto& element : list) {
    if (!first) out += ',';
    first = false;
    each(element);
  }
  out += ']';
}

void append_match(const Ruleset& ruleset, const std::vector<Matcher>& match, std::string& out) {
  append_list(out, match, [&](const Matcher& matcher) {
    out += "{\"attribute\":";
    append_json_string(out, ruleset.attributes[matcher.attribute]);
    out += ",\"values\":";
    std::vector<std::string> values = matcher.globs;
    for (const PathPattern& path : matcher.paths) values.push_back(path.text());
    append_list(out, values, [&](const std::string& value) { append_json_string(out, value); });
    out += '}';
  });
}

void append_parameters(const Limit& limit, std::string& out) {
  add(out, "\"capacity\":{},\"refill\":{{\"tokens\":{},\"period_ns\":{}}}", limit.capacity,
      limit.refill.tokens, limit.refill.period.count());
}

// A limit without tiers has its parameters itself, one with tiers has a list of them.
void append_buckets(const Ruleset& ruleset, const LimitRule& rule, std::string& out) {
  out += ",\"tier_from\":";
  if (!rule.tier_from) {
    out += "null,";
    append_parameters(rule.buckets.front().parameters, out);
    return;
  }
  append_json_string(out, ruleset.attributes[*rule.tier_from]);
  out += ",\"tiers\":";
  append_list(out, rule.buckets, [&](const Bucket& bucket) {
    out += "{\"name\":";
    append_json_string(out, bucket.tier);
    add(out, ",\"default\":{},", &bucket == &rule.buckets.front());
    append_parameters(bucket.parameters, out);
    out += '}';
  });
}

void append_on_missing(const LimitRule& rule, std::string& out) {
  switch (rule.on_missing) {
    case OnMissing::skip:
      out += "\"skip\"";
      return;
    case OnMissing::deny:
      out += "\"deny\"";
      return;
    case OnMissing::substitute:
      break;
  }
  out += "{\"value\":";
  append_json_string(out, rule.substitute);
  out += '}';
}

std::string_view name_of(Algorithm algorithm) {
  return with_algorithm(algorithm, [](auto chosen) { return decltype(chosen)::name; });
}

void append_limit(const Ruleset& ruleset, const LimitRule& rule, std::string& out) {
  out += "{\"name\":";
  append_json_string(out, rule.name);
  out += ",\"match\":";
  append_match(ruleset, rule.match, out);
  out += ",\"key\":";
  append_list(out, rule.key,
              [&](AttributeId id) { append_json_string(out, ruleset.attributes[id]); });
  out += ",\"on_missing\":";
  append_on_missing(rule, out);
  add(out, ",\"algorithm\":\"{}\"", name_of(rule.algorithm));
  append_buckets(ruleset, rule, out);
  out += ",\"cost\":";
  append_list(out, rule.cost, [&](const CostRule& cost) {
    out += "{\"match\":";
    append_match(ruleset, cost.match, out);
    add(out, ",\"value\":{}}}", cost.value);
  });
  add(out, ",\"advertise\":{},\"shadow\":{},\"deny_status\":{}}}", rule.advertise, rule.shadow,
      rule.deny_status ? std::to_string(*rule.deny_status) : "null");
}

}  // namespace

std::string limits_body(const Policy& policy) {
  std::string out = "{\"domains\":";
  append_list(out, policy.rulesets, [&](const Ruleset& ruleset) {
    out += "{\"domain\":";
    append_json_string(out, ruleset.domain);
    out += ",\"limits\":";
    append_list(out, ruleset.limits,
                [&](const LimitRule& rule) { append_limit(ruleset, rule, out); });
    out += '}';
  });
  return out + '}';
}

std::string top_body(std::span<const TopKey> keys, const Shapes& shapes, std::size_t count) {
  struct Listed {
    std::string_view limit;  // with its domain
    std::vector<const TopKey*> keys;
  };
  std::vector<Listed> limits;
  for (const TopKey& key : keys) {
    const std::string_view limit = shapes[key.shape].limit;
    auto listed = std::find_if(limits.begin(), limits.end(),
                               [&](const Listed& other) { return other.limit == limit; });
    if (listed == limits.end()) listed = limits.insert(limits.end(), Listed{limit, {}});
    if (listed->keys.size() < count) listed->keys.push_back(&key);
  }
  std::string out = "{\"halved_every_s\":60,\"limits\":";
  append_list(out, limits, [&](const Listed& listed) {
    const auto slash = listed.limit.find('/');
    out += "{\"domain\":";
    append_json_string(out, listed.limit.substr(0, slash));
    out += ",\"limit\":";
    append_json_string(out, listed.limit.substr(slash + 1));
    out += ",\"keys\":";
    append_list(out, listed.keys, [&](const TopKey* key) {
      add(out, "{{\"hash\":\"{}\",\"refused\":{},\"at_most\":{}}}", key_text(key->key),
          key->at_least, key->at_most);
    });
    out += '}';
  });
  return out + '}';
}

Result<std::size_t> read_top_query(std::string_view query) {
  constexpr std::string_view kName = "limit=";
  if (query.empty()) return 10;
  if (query.starts_with(kName)) {
    const auto count = parse_number<std::size_t>(query.substr(kName.size()));
    if (count && *count >= 1 && *count <= 1000) return *count;
  }
  return failure("the query may say limit=N, how many keys of each limit, 1 to 1000");
}

}  // namespace suimon::door
