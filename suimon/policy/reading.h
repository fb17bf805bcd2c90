// What the parts of the loader share: the ruleset that grows, and the questions that each of them
// asks of a node. Internal to the loader.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/limit.h"
#include "suimon/policy/document.h"
#include "suimon/policy/mistakes.h"
#include "suimon/policy/ruleset.h"
#include "suimon/policy/vocabulary.h"

namespace suimon {

struct Tier {
  std::string name;
  std::optional<Limit> parameters;  // nothing when there is a mistake in them
};

struct Reading {
  explicit Reading(Mistakes& all) : mistakes(all) {}

  Mistakes& mistakes;
  Ruleset ruleset;
  std::vector<Tier> tiers;
  bool tiers_readable = true;  // else nothing is said about tiers that are not there
  Place domain_at;
  Settings settings;
  std::vector<Place> first_named;  // by attribute
  std::string folder;              // of the file; "" where the text is no file and names none
};

// A policy has at most this many of each.
inline constexpr std::size_t kMostLimits = 1'000;
inline constexpr std::size_t kMostTiers = 64;
inline constexpr std::size_t kMostKeyParts = 8;
inline constexpr std::size_t kMostMatchValues = 64;
inline constexpr std::size_t kMostCostRules = 64;
inline constexpr std::size_t kMostProxies = 1'024;
inline constexpr std::size_t kLongestName = 64;
inline constexpr std::size_t kLongestValue = 1'024;

// Whether a node is of the kind that stands here; if not, a mistake that shows `example`.
bool is_mapping(const Node& node, std::string_view what, std::string_view example,
                Mistakes& mistakes);
bool is_sequence(const Node& node, std::string_view what, std::string_view example,
                 Mistakes& mistakes);
// The text of a scalar, never empty.
std::optional<std::string_view> text_of(const Node& node, std::string_view what,
                                        std::string_view example, Mistakes& mistakes);

// Whether `name` may be the name of a limit (lower case only) or of a domain or tier.
enum class NameCase : bool { lower, any };
bool check_name(std::string_view name, NameCase letters, std::string_view what, Place at,
                Mistakes& mistakes);

// The id of an attribute, which is new when nothing has named it yet.
std::optional<AttributeId> attribute_id(std::string_view name, Place at, Reading& reading);

// The parameters in {capacity: ..., refill: ...}, as validate() accepts them. Other keys are left
// to the caller.
std::optional<Limit> read_parameters(const Node& node, const Vocabulary& words, Mistakes& mistakes);

// true or false, as YAML's core schema writes them.
std::optional<bool> read_flag(const Node& node, std::string_view what, Mistakes& mistakes);
// A whole number from `least` to `most`; if not, a mistake that ends with `cure`.
std::optional<std::uint64_t> read_whole(const Node& node, std::string_view what,
                                        std::uint64_t least, std::uint64_t most,
                                        std::string_view cure, Mistakes& mistakes);
// The place of a scalar among `words`; if it is none of them, a mistake that lists them.
std::optional<std::size_t> read_word(const Node& node, std::string_view what,
                                     std::span<const std::string_view> words, Mistakes& mistakes);

// The parts of the file.
void read_client_ip(const Node& node, Reading& reading);
void read_proxies(const Node& node, Reading& reading);  // of client_ip
void read_attributes(const Node& node, Reading& reading);
void read_tiers(const Node& node, Reading& reading);
void read_aliases(const Node& node, Reading& reading);
void read_responses(const Node& node, Reading& reading);
void read_limits(const Node& node, Reading& reading);
void read_server(const Node& node, Reading& reading);
void read_store(const Node& node, Reading& reading);
void read_log(const Node& node, Reading& reading);

// The parts of a limit.
std::vector<Matcher> read_match(const Node& node, Reading& reading);
std::vector<Bucket> read_buckets(const Node& limit, LimitRule& rule, Reading& reading);
std::vector<CostRule> read_cost(const Node& node, const std::vector<Bucket>& buckets,
                                Reading& reading);
std::vector<Text> read_title(const Node& node, Mistakes& mistakes);
std::optional<int> read_deny(const Node& node, Mistakes& mistakes);

}  // namespace suimon
