#include "suimon/policy/vocabulary.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "suimon/policy/guess.h"

namespace suimon {
namespace {

using Words = std::string_view[];

constexpr Words kFileKnown = {"version",   "domain", "client_ip", "attributes", "aliases", "tiers",
                              "responses", "limits", "server",    "store",      "log"};
constexpr RefusedWord kFileLater[] = {
    {"schedules", "", ""},
    {"locales", "", ""},
    {"descriptors",
     "this looks like a file of envoyproxy/ratelimit; write version: 1 and limits:", "limits"},
};
constexpr RefusedWord kFileMisplaced[] = {
    {"title", "belongs to a limit, under limits:", ""},
    {"deny", "belongs to a limit; for all of them write responses: {deny_status: 503}", ""},
    {"headers", "belongs under responses: {headers: [ietf]}", ""},
    {"language", "belongs under responses: {language: en}", ""},
    {"deny_status", "belongs under responses: {deny_status: 503}", ""},
    {"secret_file", "belongs under store: {secret_file: ...}", ""},
    {"when_full", "belongs under store: {when_full: share}", ""},
    {"on_store_error", "belongs to a limit, under limits:", ""},
    {"tls", "belongs under server: {tls: {cert: ..., key: ...}}", ""},
    {"timeouts", "belongs under server: {timeouts: {header: 10s}}", ""},
    {"http", "belongs under server: {http: 127.0.0.1:8080}", ""},
    {"admin", "belongs under server: {admin: 127.0.0.1:9090}", ""},
    {"threads", "belongs under server: {threads: 4}", ""},
    {"identify", "belongs under log: {identify: none}", ""},
};

constexpr Words kClientIpKnown = {"from", "trusted_proxies", "trusted_hops", "ipv6_prefix"};

constexpr Words kAttributeKnown = {"header"};
constexpr RefusedWord kAttributeLater[] = {{"cookie", "use a header", "header"},
                                           {"query", "use a header", "header"},
                                           {"jwt", "use a header", "header"}};

constexpr Words kTierKnown = {"capacity", "refill"};

constexpr Words kLimitKnown = {"name",       "title",          "match",        "key",
                               "on_missing", "on_store_error", "token_bucket", "preset",
                               "cost",       "advertise",      "deny",         "shadow"};
constexpr std::string_view kWriteBucket = "write token_bucket: {capacity: ..., refill: ...}";
constexpr RefusedWord kLimitLater[] = {
    {"sliding_window", kWriteBucket, "token_bucket"},
    {"fixed_window", kWriteBucket, "token_bucket"},
    {"leaky_bucket", kWriteBucket, "token_bucket"},
    {"sliding_log", kWriteBucket, "token_bucket"},
    {"concurrency", kWriteBucket, "token_bucket"},
    {"schedule", "", ""},
    {"schedules", "", ""},
    {"except", "", ""},
};
constexpr RefusedWord kLimitMisplaced[] = {
    {"capacity", "belongs under token_bucket: {capacity: ..., refill: ...}", "token_bucket"},
    {"refill", "belongs under token_bucket: {capacity: ..., refill: ...}", "token_bucket"},
    {"tier", "belongs under token_bucket: {tier: {from: ..., default: ...}}", "token_bucket"},
    {"when_full", "belongs under store: at the top of the file", ""},
    {"status", "belongs under deny: {status: 503}", ""},
    {"value", "is no key of a limit; write cost: with a number or a list of {match, value}", ""},
};

constexpr Words kBucketKnown = {"capacity", "refill", "tier"};
constexpr Words kTierChoiceKnown = {"from", "default"};
constexpr Words kCostKnown = {"match", "value"};
constexpr Words kOnMissingKnown = {"value"};
constexpr Words kDenyKnown = {"status"};
constexpr Words kResponsesKnown = {"headers", "language", "deny_status"};

constexpr Words kServerKnown = {"http",
                                "grpc",
                                "resp",
                                "admin",
                                "threads",
                                "tls",
                                "timeouts",
                                "admin_token_file",
                                "resp_password_file"};
constexpr Words kTlsKnown = {"cert", "key", "client_ca"};
constexpr Words kTimeoutsKnown = {"header", "idle", "drain"};
constexpr Words kStoreKnown = {"url", "password_file", "secret_file", "previous_secret_file",
                               "when_full"};
constexpr RefusedWord kStoreMisplaced[] = {
    {"password", "does not belong in a file that many can read; write password_file: and its path",
     ""},
    {"secret", "does not belong in a file that many can read; write secret_file: and its path", ""},
};
constexpr Words kLogKnown = {"events", "identify", "per_second"};

constexpr Words kBuiltIn = {"client_ip", "method", "path", "host", "user_agent"};

struct Preset {
  std::string_view name;
  Limit limit;
};
constexpr Preset kPresets[] = {
    {"public-social-api", {.capacity = 15, .refill = per_second(3)}},
    {"internal-service", {.capacity = 75, .refill = per_second(15)}},
    {"payment-gateway", {.capacity = 7, .refill = per_second(1)}},
    {"photo-upload", {.capacity = 100, .refill = {1, std::chrono::seconds(30)}}},
};
constexpr Words kPresetNames = {kPresets[0].name, kPresets[1].name, kPresets[2].name,
                                kPresets[3].name};
static_assert(std::size(kPresetNames) == std::size(kPresets));

const RefusedWord* find_word(std::span<const RefusedWord> words, std::string_view word) {
  for (const RefusedWord& refused : words) {
    if (refused.word == word) return &refused;
  }
  return nullptr;
}

}  // namespace

const Vocabulary kFileWords{"a policy file", kFileKnown, kFileLater, kFileMisplaced};
const Vocabulary kClientIpWords{"client_ip", kClientIpKnown, {}, {}};
const Vocabulary kAttributeWords{"an attribute", kAttributeKnown, kAttributeLater, {}};
const Vocabulary kTierWords{"a tier", kTierKnown, {}, {}};
const Vocabulary kLimitWords{"a limit", kLimitKnown, kLimitLater, kLimitMisplaced};
const Vocabulary kBucketWords{"token_bucket", kBucketKnown, {}, {}};
const Vocabulary kTierChoiceWords{"tier", kTierChoiceKnown, {}, {}};
const Vocabulary kCostWords{"a cost", kCostKnown, {}, {}};
const Vocabulary kOnMissingWords{"on_missing", kOnMissingKnown, {}, {}};
const Vocabulary kDenyWords{"deny", kDenyKnown, {}, {}};
const Vocabulary kResponsesWords{"responses", kResponsesKnown, {}, {}};
const Vocabulary kServerWords{"server", kServerKnown, {}, {}};
const Vocabulary kTlsWords{"tls", kTlsKnown, {}, {}};
const Vocabulary kTimeoutsWords{"timeouts", kTimeoutsKnown, {}, {}};
const Vocabulary kStoreWords{"store", kStoreKnown, {}, kStoreMisplaced};
const Vocabulary kLogWords{"log", kLogKnown, {}, {}};

std::span<const std::string_view> built_in_attributes() { return kBuiltIn; }

void check_keys(const Node& mapping, const Vocabulary& words, Mistakes& mistakes) {
  for (const Entry& entry : mapping.entries) {
    if (mistakes.full()) return;
    const auto& known = words.known;
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    if (const RefusedWord* later = find_word(words.later, entry.key)) {
      mistakes.add(entry.at, shown(entry.key) + " is not in this version" +
                                 (later->cure.empty() ? "" : "; " + std::string(later->cure)));
    } else if (const RefusedWord* misplaced = find_word(words.misplaced, entry.key)) {
      mistakes.add(entry.at, shown(entry.key) + " " + std::string(misplaced->cure));
    } else {
      const auto meant = probably_meant(entry.key, known);
      mistakes.add(entry.at, "unknown key " + shown(entry.key) + "; " +
                                 (meant ? "did you mean " + shown(*meant) + "?"
                                        : std::string(words.where) + " has " + listed(known)));
    }
  }
}

const Entry* required(const Node& mapping, std::string_view key, const Vocabulary& words,
                      std::string text, Mistakes& mistakes) {
  if (const Entry* entry = mapping.find(key)) return entry;
  for (const Entry& entry : mapping.entries) {
    if (mistakes.full()) return nullptr;
    const auto& known = words.known;
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    const RefusedWord* refused = find_word(words.later, entry.key);
    if (refused == nullptr) refused = find_word(words.misplaced, entry.key);
    const auto meant = refused != nullptr ? refused->instead : probably_meant(entry.key, known);
    if (meant == key) return nullptr;
  }
  mistakes.add(mapping.at, std::move(text));
  return nullptr;
}

std::optional<Limit> find_preset(std::string_view name) {
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return preset.limit;
  }
  return std::nullopt;
}

std::span<const std::string_view> preset_names() { return kPresetNames; }

}  // namespace suimon
