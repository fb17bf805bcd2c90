// What a limit applies to and what a request costs: match and cost.
#include <algorithm>
#include <string>
#include <utility>

#include "suimon/policy/guess.h"
#include "suimon/policy/quantity.h"
#include "suimon/policy/reading.h"
#include "suimon/policy/vocabulary.h"

namespace suimon {
namespace {

constexpr std::string_view kMatchExample = "match: {path: /v1/orders/**, method: [POST, PUT]}";
constexpr std::string_view kCostExample = "cost: [{match: {method: POST}, value: 5}, {value: 1}]";

void read_value(const Node& node, std::string_view attribute, Matcher& matcher,
                Mistakes& mistakes) {
  const auto text = text_of(node, shown(attribute), kMatchExample, mistakes);
  if (!text) return;
  if (attribute == "path") {
    auto path = PathPattern::make(*text);
    if (path) {
      matcher.paths.push_back(std::move(*path));
    } else {
      mistakes.add(node.at, path.error().text);
    }
    return;
  }
  if (attribute == "host") {
    normalize_host(*text, matcher.globs.emplace_back());
    return;
  }
  matcher.globs.emplace_back(*text);
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  if (attribute == "method" && std::any_of(text->begin(), text->end(), is_lower)) {
    mistakes.warn(node.at, "method: " + shown(*text) +
                               " matches only a method in small letters; write GET, POST and the "
                               "others in capitals");
  }
}

std::optional<std::uint64_t> read_amount(const Node& node, Mistakes& mistakes) {
  const auto text = text_of(node, "cost", kCostExample, mistakes);
  if (!text) return std::nullopt;
  const auto count = parse_count(*text);
  if (count) return *count;
  mistakes.add(node.at, "cost: " + count.error().text);
  return std::nullopt;
}

// A cost that no bucket can pay would be refused for ever.
void check_amount(std::uint64_t amount, Place at, const std::vector<Bucket>& buckets,
                  Mistakes& mistakes) {
  if (buckets.empty()) return;  // there is a mistake in them
  const auto smaller = [](const Bucket& a, const Bucket& b) {
    return a.parameters.capacity < b.parameters.capacity;
  };
  const auto [least, most] = std::minmax_element(buckets.begin(), buckets.end(), smaller);
  const auto capacity = [](const Bucket& bucket) {
    return std::to_string(bucket.parameters.capacity) +
           (bucket.tier.empty() ? "" : " of tier " + shown(bucket.tier));
  };
  const std::string cost = "a cost of " + std::to_string(amount);
  if (amount > most->parameters.capacity) {
    mistakes.add(at, cost + " is above the " + (most->tier.empty() ? "" : "largest ") +
                         "capacity, " + capacity(*most) +
                         ", so it would always be refused; lower it or raise the capacity");
  } else if (amount > least->parameters.capacity) {
    mistakes.warn(at, cost + " is above the capacity " + capacity(*least) +
                          ", where it will always be refused");
  }
}

}  // namespace

std::vector<Matcher> read_match(const Node& node, Reading& reading) {
  std::vector<Matcher> matchers;
  if (!is_mapping(node, "match", kMatchExample, reading.mistakes)) return matchers;
  for (const Entry& entry : node.entries) {
    const auto id = attribute_id(entry.key, entry.at, reading);
    Matcher matcher;
    matcher.attribute = id.value_or(0);
    const Node& value = entry.value;
    if (!value.is_sequence()) {
      read_value(value, entry.key, matcher, reading.mistakes);
    } else if (value.items.empty()) {
      reading.mistakes.add(value.at, shown(entry.key) +
                                         ": an empty list matches nothing; write the values, or "
                                         "leave the attribute out to match everything");
    } else if (value.items.size() > kMostMatchValues) {
      reading.mistakes.add(value.at, shown(entry.key) +
                                         ": more than 64 values; use a `*` or "
                                         "write a second limit");
    } else {
      for (const Node& item : value.items) read_value(item, entry.key, matcher, reading.mistakes);
    }
    if (id) matchers.push_back(std::move(matcher));
  }
  return matchers;
}

std::vector<CostRule> read_cost(const Node& node, const std::vector<Bucket>& buckets,
                                Reading& reading) {
  Mistakes& mistakes = reading.mistakes;
  std::vector<CostRule> rules;
  if (node.is_scalar()) {
    const auto amount = read_amount(node, mistakes);
    if (!amount) return rules;
    if (*amount == 0) {
      mistakes.add(node.at,
                   "cost: with 0 nobody would ever be limited; write at least 1, or "
                   "leave the limit out");
    }
    check_amount(*amount, node.at, buckets, mistakes);
    rules.push_back({{}, *amount});
    return rules;
  }
  if (!is_sequence(node, "cost", kCostExample, mistakes)) return rules;
  if (node.items.empty()) {
    mistakes.add(node.at,
                 "cost: the list is empty; leave cost out to charge 1, or write for "
                 "example " +
                     std::string(kCostExample));
  }
  if (node.items.size() > kMostCostRules) {
    mistakes.add(node.at, "cost: more than 64 rules; join those with the same value");
    return rules;
  }
  std::optional<Place> matches_all;
  for (const Node& item : node.items) {
    if (!is_mapping(item, "cost", kCostExample, mistakes)) continue;
    check_keys(item, kCostWords, mistakes);
    if (matches_all) {
      mistakes.add(item.at, "this cost is never reached: the one at " + to_string(*matches_all) +
                                " matches everything; put it last");
    }
    CostRule rule;
    const Entry* match = item.find("match");
    if (match != nullptr) rule.match = read_match(match->value, reading);
    if (match == nullptr || (match->value.is_mapping() && match->value.entries.empty())) {
      matches_all = item.at;
    }
    const Entry* value = required(item, "value", kCostWords,
                                  "this cost has no value; write for example value: 5", mistakes);
    const auto amount = value != nullptr ? read_amount(value->value, mistakes) : std::nullopt;
    if (amount) {
      check_amount(*amount, value->value.at, buckets, mistakes);
      rule.value = *amount;
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace suimon
