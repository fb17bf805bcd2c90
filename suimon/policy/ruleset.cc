#include "suimon/policy/ruleset.h"

#include <algorithm>
#include <limits>

#include "suimon/base/inline_vector.h"
#include "suimon/policy/matching.h"

namespace suimon {
namespace {

constexpr std::string_view kPath = "path";
constexpr std::string_view kHost = "host";
constexpr std::string_view kClientIp = "client_ip";

std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max()
                                                : product;
}

}  // namespace

namespace matching {

bool read_values(const Ruleset& ruleset, const Request& request, Values& values,
                 MatchScratch& scratch) {
  const std::vector<std::string>& attributes = ruleset.attributes;
  for (std::size_t id = 0; id < attributes.size(); ++id) {
    values.of[id] = ruleset.value_of(request, static_cast<AttributeId>(id));
    if (!values.has(static_cast<AttributeId>(id))) continue;
    if (attributes[id] == kClientIp) {
      if (const auto address = parse_address(values.of[id])) {
        values.of[id] = client_text(*address, ruleset.client_ip.ipv6_prefix, values.client_buffer);
      }
    } else if (attributes[id] == kPath) {
      if (!normalize_path(values.of[id], scratch.path)) return false;
      values.of[id] = scratch.path;
    } else if (attributes[id] == kHost) {
      normalize_host(values.of[id], scratch.host);
      values.of[id] = scratch.host;
    }
  }
  return true;
}

bool matches(const Matcher& matcher, const Values& values) {
  if (!values.has(matcher.attribute)) return false;
  const std::string_view value = values.of[matcher.attribute];
  return std::any_of(matcher.globs.begin(), matcher.globs.end(),
                     [&](const std::string& glob) { return glob_matches(glob, value); }) ||
         std::any_of(matcher.paths.begin(), matcher.paths.end(),
                     [&](const PathPattern& path) { return path.matches(value); });
}

bool matches_all(const std::vector<Matcher>& matchers, const Values& values) {
  return std::all_of(matchers.begin(), matchers.end(),
                     [&](const Matcher& matcher) { return matches(matcher, values); });
}

const CostRule* cost_rule_of(const LimitRule& rule, const Values& values) {
  for (const CostRule& cost : rule.cost) {
    if (matches_all(cost.match, values)) return &cost;
  }
  return nullptr;
}

const Bucket& bucket_of(const LimitRule& rule, const Values& values) {
  if (rule.tier_from && values.has(*rule.tier_from)) {
    for (const Bucket& bucket : rule.buckets) {
      if (bucket.tier == values.of[*rule.tier_from]) return bucket;
    }
  }
  return rule.buckets.front();
}

std::optional<AttributeId> encode_key(const LimitRule& rule, const Values& values,
                                      std::string& encoded) {
  encoded.clear();
  for (const AttributeId part : rule.key) {
    if (values.has(part)) {
      append_part(encoded, values.of[part]);
    } else if (rule.on_missing == OnMissing::substitute) {
      append_part(encoded, rule.substitute);
    } else {
      return part;
    }
  }
  return std::nullopt;
}

}  // namespace matching

void Ruleset::hash_under(const Hashing& hashing) {
  for (LimitRule& rule : limits) {
    const std::string name = domain + "/" + rule.name;
    rule.hash = derive_limit(hashing.secret, name);
    rule.rekey = hashing.rekey;
    rule.other_hash = derive_limit(hashing.other, name);
  }
}

Result<std::vector<const Shape*>> Ruleset::number_shapes(Shapes& shapes, const Secret& secret,
                                                         Instant now) {
  hash_under({.secret = secret});
  std::vector<const Shape*> used;
  std::uint32_t index = 0;
  for (LimitRule& rule : limits) {
    const std::string name = domain + "/" + rule.name;
    rule.index = index++;
    std::uint64_t largest_cost = 1;
    for (const CostRule& cost : rule.cost) largest_cost = std::max(largest_cost, cost.value);
    for (Bucket& bucket : rule.buckets) {
      auto shape =
          shapes.assign(name, bucket.tier, rule.algorithm, bucket.parameters, now, largest_cost);
      if (!shape) return failure("limit " + rule.name + ": " + shape.error().text);
      bucket.shape = (*shape)->number;
      const detail::Scale& exact = (*shape)->exact;
      bucket.fill_time = detail::wait_until(exact, now, exact.burst(), 0);
      used.push_back(*shape);
    }
  }
  return used;
}

void Ruleset::match(const Request& request, Matched& out, MatchScratch& scratch) const {
  out.status = Matched::Status::ok;
  out.enforced.size = out.enforced.charged = 0;
  out.shadows.size = out.shadows.charged = 0;
  matching::Values values;
  if (!matching::read_values(*this, request, values, scratch)) {
    out.status = Matched::Status::bad_path;
    return;
  }

  // Those that lack an attribute: enforced ones, shadows.
  std::array<InlineVector<Applied, kMostCharges>, 2> missing;
  std::size_t count = 0;
  for (const LimitRule& rule : limits) {
    if (!matching::matches_all(rule.match, values)) continue;
    const CostRule* const cost_rule = matching::cost_rule_of(rule, values);
    const std::uint64_t cost = cost_rule == nullptr ? 1 : cost_rule->value;
    if (cost == 0) continue;  // free of charge: the limit does not apply
    const auto lacking = matching::encode_key(rule, values, scratch.key);
    if (lacking && rule.on_missing == OnMissing::skip) continue;
    if (count++ == kMostCharges) {
      out.status = Matched::Status::too_many_limits;
      return;
    }
    const Bucket& bucket = matching::bucket_of(rule, values);
    const std::size_t side = rule.shadow ? 1 : 0;
    if (lacking) {
      missing[side].emplace_back(Applied{&rule, &bucket, &attributes[*lacking], cost});
      continue;
    }
    Charged& to = rule.shadow ? out.shadows : out.enforced;
    to.applied[to.charged] = {&rule, &bucket, nullptr, cost};
    Charge& charge = to.charges[to.charged++];
    charge.key = key_of(rule.hash, scratch.key);
    charge.amount = saturating_product(request.cost, cost);
    charge.shape = bucket.shape;
    charge.op = request.cost == 0 ? Op::peek : Op::take;
    charge.keyless = rule.key.empty();
    charge.rekey = rule.rekey;
    if (rule.rekey != Rekey::none) charge.other = key_of(rule.other_hash, scratch.key);
  }
  for (const std::size_t side : {0U, 1U}) {
    Charged& to = side == 0 ? out.enforced : out.shadows;
    std::copy(missing[side].begin(), missing[side].end(), to.applied.data() + to.charged);
    to.size = to.charged + missing[side].size();
  }
}

std::optional<AttributeId> Ruleset::find_attribute(std::string_view name) const {
  const auto found = std::find(attributes.begin(), attributes.end(), name);
  if (found == attributes.end()) return std::nullopt;
  return static_cast<AttributeId>(found - attributes.begin());
}

const Ruleset* Policy::find(std::string_view domain) const {
  if (domain.empty()) return rulesets.size() == 1 ? &rulesets.front() : nullptr;
  const auto found = std::find_if(rulesets.begin(), rulesets.end(),
                                  [&](const Ruleset& ruleset) { return ruleset.domain == domain; });
  return found == rulesets.end() ? nullptr : &*found;
}

}  // namespace suimon
