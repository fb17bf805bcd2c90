#include "suimon/door/key_body.h"

#include <algorithm>
#include <array>

#include "suimon/core/key_text.h"
#include "suimon/door/json_text.h"

namespace suimon::door {
namespace {

namespace dom = simdjson::dom;

constexpr std::array<std::string_view, 5> kMembers = {"domain", "limit", "attributes", "hash",
                                                      "tier"};

enum Member : std::size_t { kDomain, kLimit, kAttributes, kHash, kTier };

}  // namespace

KeyReader::KeyReader() : json_(std::make_unique<JsonText>()) {}
KeyReader::~KeyReader() = default;

Result<KeyName> KeyReader::read(std::string_view body) {
  attributes_.clear();
  const auto element = json_->parse(body);
  if (!element) return tl::unexpected(element.error());
  dom::object members;
  if (element->get_object().get(members) != simdjson::SUCCESS) {
    return failure(
        "the body must be an object, such as "
        "{\"limit\": \"per-user\", \"attributes\": {\"user\": \"u1\"}}");
  }
  KeyName name;
  std::array<bool, kMembers.size()> seen{};
  for (const auto& [member, value] : members) {
    const auto place = static_cast<std::size_t>(
        std::find(kMembers.begin(), kMembers.end(), member) - kMembers.begin());
    if (place == kMembers.size()) {
      return failure("unknown member " + quoted(member) +
                     "; a key has domain, limit and attributes, or hash and tier in their place");
    }
    if (seen[place]) return failure("the member " + quoted(member) + " stands twice");
    seen[place] = true;
    if (place == kAttributes) {
      if (std::string mistake = read_attributes(value, attributes_); !mistake.empty()) {
        return failure(std::move(mistake));
      }
      continue;
    }
    std::string_view text;
    if (value.get_string().get(text) != simdjson::SUCCESS) {
      return failure(std::string(kMembers[place]) + " must be a string");
    }
    if (place == kDomain) name.domain = text;
    if (place == kLimit) name.limit = text;
    if (place == kTier) name.tier = text;
    if (place != kHash) continue;
    name.hash = parse_key_text(text);
    if (!name.hash) {
      return failure("hash: " + quoted(text) +
                     " is no hash; write the 32 hexadecimal digits that /v1/top or the log shows");
    }
  }
  if (!seen[kLimit]) return failure("limit is missing: the name of the limit whose key is meant");
  if (seen[kHash] && seen[kAttributes]) {
    return failure("attributes and hash both name a key; leave one of them out");
  }
  if (seen[kTier] && !seen[kHash]) {
    return failure("tier goes with hash; with attributes, write the one that names the tier");
  }
  name.attributes = attributes_;
  return name;
}

}  // namespace suimon::door
