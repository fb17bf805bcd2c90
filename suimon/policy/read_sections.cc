// The sections of a policy file before its limits: client_ip, attributes, aliases, tiers.
#include <algorithm>
#include <string>

#include "suimon/base/text.h"
#include "suimon/policy/guess.h"
#include "suimon/policy/reading.h"
#include "suimon/policy/vocabulary.h"

namespace suimon {
namespace {

constexpr unsigned kMostHops = 16;

struct Source {
  std::string_view name;
  ClientIpRule::From from;
};
constexpr Source kSources[] = {
    {"x-forwarded-for", ClientIpRule::From::forwarded_for},
    {"forwarded", ClientIpRule::From::forwarded},
    {"x-real-ip", ClientIpRule::From::header},
    {"cf-connecting-ip", ClientIpRule::From::header},
    {"true-client-ip", ClientIpRule::From::header},
    {"fastly-client-ip", ClientIpRule::From::header},
    {"proxy-protocol", ClientIpRule::From::proxy_protocol},
    {"peer", ClientIpRule::From::peer},
};
constexpr std::string_view kSourceNames[] = {kSources[0].name, kSources[1].name, kSources[2].name,
                                             kSources[3].name, kSources[4].name, kSources[5].name,
                                             kSources[6].name, kSources[7].name};
static_assert(std::size(kSourceNames) == std::size(kSources));

void read_from(const Node& node, Reading& reading) {
  const auto text = text_of(node, "from", "from: x-forwarded-for", reading.mistakes);
  if (!text) return;
  const std::string name = ascii_lower(*text);
  for (const Source& source : kSources) {
    if (source.name != name) continue;
    reading.ruleset.client_ip.from = source.from;
    const bool in_header = source.from != ClientIpRule::From::peer &&
                           source.from != ClientIpRule::From::proxy_protocol;
    reading.ruleset.client_ip.header = in_header ? name : "";
    return;
  }
  reading.mistakes.add(node.at,
                       "from: " + shown(*text) + " is unknown; " + advice(*text, kSourceNames));
}

std::optional<unsigned> read_number(const Node& node, std::string_view what, unsigned least,
                                    unsigned most, std::string_view cure, Reading& reading) {
  const std::string example = std::string(what) + ": " + std::to_string(most == 128 ? 64 : least);
  const auto text = text_of(node, what, example, reading.mistakes);
  if (!text) return std::nullopt;
  const auto value = parse_number<unsigned>(*text);
  if (value && *value >= least && *value <= most) return value;
  reading.mistakes.add(node.at, std::string(what) + ": " + shown(*text) +
                                    " is no whole number from " + std::to_string(least) + " to " +
                                    std::to_string(most) + std::string(cure));
  return std::nullopt;
}

bool is_header_name(std::string_view name) {
  // Source: RFC 9110 section 5.6.2, token.
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && name.size() <= kLongestValue &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  kMarks.find(c) != std::string_view::npos;
         });
}

}  // namespace

void read_client_ip(const Node& node, Reading& reading) {
  Mistakes& mistakes = reading.mistakes;
  if (!is_mapping(node, "client_ip", "client_ip: {from: x-forwarded-for}", mistakes)) return;
  check_keys(node, kClientIpWords, mistakes);
  ClientIpRule& rule = reading.ruleset.client_ip;
  const Entry* from = node.find("from");
  const Entry* proxies = node.find("trusted_proxies");
  const Entry* hops = node.find("trusted_hops");
  const Entry* prefix = node.find("ipv6_prefix");
  if (from != nullptr) read_from(from->value, reading);
  if (proxies != nullptr) read_proxies(proxies->value, reading);
  if (hops != nullptr) {
    rule.trusted_hops = read_number(hops->value, "trusted_hops", 1, kMostHops,
                                    "; to believe no proxy at all, write from: peer", reading);
  }
  if (prefix != nullptr) {
    const auto bits =
        read_number(prefix->value, "ipv6_prefix", 1, 128,
                    "; 64 counts a household or a server as one, 128 every address", reading);
    rule.ipv6_prefix = bits.value_or(rule.ipv6_prefix);
  }
  if (proxies != nullptr && hops != nullptr) {
    const Entry* later = hops->at.line > proxies->at.line || (hops->at.line == proxies->at.line &&
                                                              hops->at.column > proxies->at.column)
                             ? hops
                             : proxies;
    mistakes.add(later->at,
                 "trusted_proxies and trusted_hops exclude each other; keep "
                 "trusted_proxies, or trusted_hops if the proxies have no fixed "
                 "addresses");
    return;
  }
  const bool in_connection = rule.from == ClientIpRule::From::proxy_protocol;
  if (hops != nullptr && (rule.from == ClientIpRule::From::header || in_connection)) {
    mistakes.add(hops->at, "trusted_hops counts the entries of a list; with from: " +
                               (in_connection ? "proxy-protocol" : rule.header) +
                               " write trusted_proxies");
  }
  if (rule.from == ClientIpRule::From::peer && (proxies != nullptr || hops != nullptr)) {
    const Entry* idle = proxies != nullptr ? proxies : hops;
    mistakes.warn(idle->at, shown(idle->key) + " does nothing with from: peer; leave it out");
  }
}

void read_attributes(const Node& node, Reading& reading) {
  Mistakes& mistakes = reading.mistakes;
  constexpr std::string_view kExample = "user: {header: X-User-Id}";
  if (!is_mapping(node, "attributes", kExample, mistakes)) return;
  const auto built_in = built_in_attributes();
  for (const Entry& entry : node.entries) {
    if (std::find(built_in.begin(), built_in.end(), entry.key) != built_in.end()) {
      mistakes.add(entry.at,
                   shown(entry.key) +
                       " is built in and cannot come from elsewhere; choose another "
                       "name" +
                       (entry.key == "client_ip" ? ", or set client_ip: {from: ...}" : ""));
      continue;
    }
    const auto id = attribute_id(entry.key, entry.at, reading);
    if (!is_mapping(entry.value, shown(entry.key), kExample, mistakes)) continue;
    check_keys(entry.value, kAttributeWords, mistakes);
    const Entry* header = required(
        entry.value, "header", kAttributeWords,
        shown(entry.key) + " has no header; write for example " + std::string(kExample), mistakes);
    if (header == nullptr) continue;
    const auto name = text_of(header->value, "header", "header: X-User-Id", mistakes);
    if (!name) continue;
    if (!is_header_name(*name)) {
      mistakes.add(header->value.at,
                   "header: " + shown(*name) + " is no header name; write one such as X-User-Id");
      continue;
    }
    if (id) reading.ruleset.sources.push_back({*id, ascii_lower(*name)});
  }
}

void read_aliases(const Node& node, Reading& reading) {
  Mistakes& mistakes = reading.mistakes;
  constexpr std::string_view kExample = "aliases: {remote_address: client_ip}";
  if (!is_mapping(node, "aliases", kExample, mistakes)) return;
  if (node.entries.size() > Ruleset::kMostAliases) {
    mistakes.add(node.at, "aliases: more than 64");
    return;
  }
  const auto built_in = built_in_attributes();
  for (const Entry& entry : node.entries) {
    const auto name = text_of(entry.value, shown(entry.key), kExample, mistakes);
    if (!name) continue;
    if (*name == entry.key) {
      mistakes.add(entry.at, shown(entry.key) + " is its own alias; leave it out");
    } else if (node.find(*name) != nullptr) {
      mistakes.add(entry.value.at, shown(*name) + " is an alias itself; name the attribute");
    } else if (std::find(built_in.begin(), built_in.end(), entry.key) != built_in.end()) {
      mistakes.add(entry.at, shown(entry.key) +
                                 " is built in and cannot stand for another attribute; choose "
                                 "another name");
    } else if (const auto id = attribute_id(*name, entry.value.at, reading)) {
      reading.ruleset.aliases.push_back({entry.key, *id});
    }
  }
}

void read_tiers(const Node& node, Reading& reading) {
  Mistakes& mistakes = reading.mistakes;
  constexpr std::string_view kExample = "free: {capacity: 10, refill: 2/s}";
  if (!is_mapping(node, "tiers", kExample, mistakes)) {
    reading.tiers_readable = false;
    return;
  }
  for (const Entry& entry : node.entries) {
    if (reading.tiers.size() == kMostTiers) {
      mistakes.add(entry.at, shown(entry.key) + " is one tier too many; a policy has at most 64");
      reading.tiers_readable = false;
      return;
    }
    check_name(entry.key, NameCase::any, "tier", entry.at, mistakes);
    Tier& tier = reading.tiers.emplace_back(Tier{entry.key, std::nullopt});
    if (!is_mapping(entry.value, shown(entry.key), kExample, mistakes)) continue;
    check_keys(entry.value, kTierWords, mistakes);
    tier.parameters = read_parameters(entry.value, kTierWords, mistakes);
  }
}

}  // namespace suimon
