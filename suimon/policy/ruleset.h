// A policy, compiled: the limits of one domain and how they apply to a request.
//
// Thread rule: immutable once its shapes are numbered (number_shapes) and its secrets are set
// (hash_under), then shared by all threads.
// match() is O(limits * their matchers) and allocates nothing once the scratch that it is handed
// has grown.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/core/identity.h"
#include "suimon/core/shapes.h"
#include "suimon/policy/answers.h"
#include "suimon/policy/client_ip.h"
#include "suimon/policy/pattern.h"
#include "suimon/policy/request.h"
#include "suimon/policy/settings.h"

namespace suimon {

// The place of an attribute in Ruleset::attributes.
using AttributeId = std::uint16_t;

// One attribute must match one of these.
struct Matcher {
  AttributeId attribute = 0;
  std::vector<std::string> globs;  // for every attribute but "path"
  std::vector<PathPattern> paths;  // for "path"
};

struct CostRule {
  std::vector<Matcher> match;  // all must match; empty matches everything
  std::uint64_t value = 1;
};

enum class OnMissing : std::uint8_t {
  skip,        // the limit does not apply
  deny,        // the request is refused
  substitute,  // a fixed value stands in
};

// What becomes of a limit's requests while the store cannot be asked.
enum class OnStoreError : std::uint8_t {
  local,  // each daemon decides by buckets of its own, which were full when it began
  allow,  // they pass, and are not charged
  deny,   // they are refused as by an overloaded service
};
inline constexpr std::array<std::string_view, 3> kOnStoreErrorNames = {"local", "allow", "deny"};

// The parameters of a limit for one tier.
struct Bucket {
  std::string tier;  // "" without tiers
  Limit parameters;
  // Of what number_shapes() makes of them:
  ShapeNumber shape = 0;
  Duration fill_time{0};  // capacity / rate, rounded up to a nanosecond
};

struct LimitRule {
  std::string name;
  std::vector<Matcher> match;  // all must match
  std::vector<AttributeId> key;
  OnMissing on_missing = OnMissing::skip;
  std::string substitute;
  OnStoreError on_store_error = OnStoreError::local;
  Algorithm algorithm = Algorithm::token_bucket;
  std::vector<Bucket> buckets;           // the first is the default
  std::optional<AttributeId> tier_from;  // which attribute names the tier
  std::vector<CostRule> cost;            // the first that matches; none: 1
  bool advertise = true;                 // shown in RateLimit headers
  bool shadow = false;                   // decides, but never refuses
  std::optional<int> deny_status;        // of its refusals; nothing: what AnswerRule says
  std::vector<Text> titles;              // what callers call it, by language
  std::uint32_t index = 0;               // its place in Ruleset::limits
  LimitHash hash;                        // set by hash_under
  Rekey rekey = Rekey::none;             // the same: whether there are two secrets
  LimitHash other_hash{};                // under the other one
};

// How a proxy's request shows an attribute.
struct AttributeSource {
  AttributeId attribute = 0;
  std::string header;  // lower case
};

// Another name under which callers send an attribute.
struct Alias {
  std::string name;
  AttributeId attribute = 0;
};

// A limit that applies to a request.
struct Applied {
  const LimitRule* rule = nullptr;
  const Bucket* bucket = nullptr;
  const std::string* missing = nullptr;  // on_missing: deny, and this attribute is missing
  std::uint64_t cost = 1;                // tokens for each unit of the request's own cost
  std::uint32_t request = 0;             // to which one, of several that are decided together
};

// Limits that apply to a request, and what they are charged. One that lacks an attribute that it
// denies without is charged nothing.
struct Charged {
  std::size_t size = 0;                       // of `applied`
  std::size_t charged = 0;                    // of `charges`
  std::array<Applied, kMostCharges> applied;  // those that are charged first, in order
  std::array<Charge, kMostCharges> charges;
};

struct Matched {
  enum class Status : std::uint8_t { ok, bad_path, too_many_limits };

  Status status = Status::ok;
  Charged enforced;
  Charged shadows;  // together at most kMostCharges
};

// Buffers that one thread reuses from match to match, so that matching allocates nothing.
struct MatchScratch {
  std::string key;
  std::string path;
  std::string host;
};

class Ruleset {
 public:
  static constexpr std::size_t kMostAttributes = 64;  // that one policy may name
  static constexpr std::size_t kMostAliases = 64;

  std::string domain;
  ClientIpRule client_ip;
  std::vector<std::string> attributes;  // every attribute that a limit looks at
  std::vector<AttributeSource> sources;
  std::vector<Alias> aliases;
  std::vector<LimitRule> limits;
  AnswerRule answers;

  // Derives the hash keys of every limit.
  void hash_under(const Hashing& hashing);

  // Gives every bucket the number of its shape and every limit its hash key under one secret. The
  // shapes that are in use are returned for Store::adopt.
  Result<std::vector<const Shape*>> number_shapes(Shapes& shapes, const Secret& secret,
                                                  Instant now);

  // The limits that apply, and what they are charged. An attribute whose value is empty counts as
  // missing: it would put everybody who sends it empty into one bucket.
  void match(const Request& request, Matched& out, MatchScratch& scratch) const;

  // What `request` says of an attribute, under its own name or else under an alias; "" when it says
  // nothing. As it was sent: not in the form in which limits compare it.
  std::string_view value_of(const Request& request, AttributeId id) const {
    std::string_view value = request.value_of(attributes[id]);
    for (const Alias& alias : aliases) {
      if (!value.empty()) break;
      if (alias.attribute == id) value = request.value_of(alias.name);
    }
    return value;
  }

  // The id of an attribute, if any limit looks at it.
  std::optional<AttributeId> find_attribute(std::string_view name) const;
};

// All domains that are loaded.
struct Policy {
  std::vector<Ruleset> rulesets;
  Settings settings;  // of all files together

  // The ruleset of a domain; "" means the only one. Nothing when there is none such.
  const Ruleset* find(std::string_view domain) const;
};

}  // namespace suimon
