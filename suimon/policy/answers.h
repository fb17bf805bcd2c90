// How refusals look, as far as a policy may choose: the words that it may use.
//
// The rooms behind (reply) must have what is listed here, in this order; they do not build
// otherwise.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/base/text.h"

namespace suimon {

// Header dialects, in `responses: {headers: [...]}`.
inline constexpr std::array<std::string_view, 4> kHeaderDialectNames = {
    "ietf", "ietf-11", "x-ratelimit", "x-ratelimit-epoch"};

// Languages, as BCP 47 tags; the first is the default.
inline constexpr std::array<std::string_view, 8> kLanguageTags = {"en", "ja", "de", "fr",
                                                                  "es", "pt", "zh", "ko"};

// The statuses that a refusal may have.
inline constexpr std::array<int, 4> kDenyStatuses = {200, 403, 429, 503};

constexpr bool is_deny_status(int status) {
  return std::find(kDenyStatuses.begin(), kDenyStatuses.end(), status) != kDenyStatuses.end();
}
// Three digits that are one of them; nothing for anything else.
inline std::optional<int> parse_deny_status(std::string_view text) {
  const auto status = text.size() == 3 ? parse_number<int>(text) : std::nullopt;
  return status && is_deny_status(*status) ? status : std::nullopt;
}

// A text that callers read, in one language.
struct Text {
  std::uint8_t language = 0;  // its place in kLanguageTags
  std::string text;
  friend bool operator==(const Text&, const Text&) = default;
};

// How the answers of a domain look, unless the request says otherwise.
struct AnswerRule {
  std::vector<std::uint8_t> headers{0};  // places in kHeaderDialectNames
  std::uint8_t language = 0;             // for callers who name none: its place in kLanguageTags
  int deny_status = 429;                 // one of kDenyStatuses
  friend bool operator==(const AnswerRule&, const AnswerRule&) = default;
};

}  // namespace suimon
