// How refusals look, as far as a policy may choose: the words that it may use.
//
// The rooms behind (reply) must have what is listed here, in this order; they do not build
// otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace suimon {

// Header dialects, in `responses: {headers: [...]}`.
inline constexpr std::array<std::string_view, 4> kHeaderDialectNames = {
    "ietf", "ietf-11", "x-ratelimit", "x-ratelimit-epoch"};

// Languages, as BCP 47 tags; the first is the default.
inline constexpr std::array<std::string_view, 8> kLanguageTags = {"en", "ja", "de", "fr",
                                                                  "es", "pt", "zh", "ko"};

// The statuses that a refusal may have.
inline constexpr std::array<int, 4> kDenyStatuses = {200, 403, 429, 503};

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
