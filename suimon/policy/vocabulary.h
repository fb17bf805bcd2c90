// The words of the policy file: which keys stand where, and which presets exist.
//
// Thread rule: constants and pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "suimon/limit.h"
#include "suimon/policy/document.h"
#include "suimon/policy/mistakes.h"

namespace suimon {

// A key that people know from elsewhere and this version refuses.
struct RefusedWord {
  std::string_view word;
  std::string_view cure;     // "" says only that it is not in this version
  std::string_view instead;  // the key that is not missed besides; "" for none
};

// The keys that one kind of mapping may have.
struct Vocabulary {
  std::string_view where;  // "a limit", as in "a limit has name, match, ..."
  std::span<const std::string_view> known;
  std::span<const RefusedWord> later;      // not in this version
  std::span<const RefusedWord> misplaced;  // belongs elsewhere
};

extern const Vocabulary kFileWords;
extern const Vocabulary kClientIpWords;
extern const Vocabulary kAttributeWords;
extern const Vocabulary kTierWords;
extern const Vocabulary kLimitWords;
extern const Vocabulary kBucketWords;
extern const Vocabulary kTierChoiceWords;
extern const Vocabulary kCostWords;
extern const Vocabulary kOnMissingWords;
extern const Vocabulary kDenyWords;
extern const Vocabulary kResponsesWords;
extern const Vocabulary kServerWords;
extern const Vocabulary kTlsWords;
extern const Vocabulary kTimeoutsWords;
extern const Vocabulary kStoreWords;
extern const Vocabulary kLogWords;

// Attributes that every door knows without being told.
std::span<const std::string_view> built_in_attributes();

// Adds a mistake for every key of `mapping` that the vocabulary does not have.
void check_keys(const Node& mapping, const Vocabulary& words, Mistakes& mistakes);

// The entry of `key`. Where it is missing: nullptr and the mistake `text`, unless another key is
// there that probably means it and is refused by check_keys already.
const Entry* required(const Node& mapping, std::string_view key, const Vocabulary& words,
                      std::string text, Mistakes& mistakes);

// The limit of a preset; nothing when there is none of that name.
std::optional<Limit> find_preset(std::string_view name);
std::span<const std::string_view> preset_names();

}  // namespace suimon
