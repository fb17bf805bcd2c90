// What callers see: responses, and of a limit its title and the status of its refusals.
#include <algorithm>
#include <string>

#include "suimon/base/text.h"
#include "suimon/policy/guess.h"
#include "suimon/policy/reading.h"
#include "suimon/policy/vocabulary.h"

namespace suimon {
namespace {

constexpr std::string_view kTitleExample = "title: {en: Your requests, ja: お客様のリクエスト}";
constexpr std::size_t kLongestTitle = 200;  // bytes

std::optional<int> read_status(const Node& node, std::string_view what, Mistakes& mistakes) {
  const auto text = text_of(node, what, std::string(what) + ": 503", mistakes);
  if (!text) return std::nullopt;
  if (const auto status = parse_deny_status(*text)) {
    if (*status == 200) {
      mistakes.warn(node.at, std::string(what) +
                                 ": 200 lets a proxy pass everything; it is for callers of "
                                 "/v1/check that read `allowed`");
    }
    return status;
  }
  mistakes.add(node.at, std::string(what) + ": " + shown(*text) +
                            " is no status of a refusal; write 429, 503, 403 or 200");
  return std::nullopt;
}

// A title is shown in sentences and in headers' neighbours, so it is one line of plain text.
bool check_title(std::string_view text, Place at, Mistakes& mistakes) {
  const bool plain = std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  if (!plain) {
    mistakes.add(at, "title: control characters are not shown to callers; write one line of text");
  } else if (text.size() > kLongestTitle) {
    mistakes.add(at, "title: longer than 200 bytes; write a few words");
  }
  return plain && text.size() <= kLongestTitle;
}

std::optional<std::uint8_t> language_of(std::string_view tag) {
  for (std::size_t i = 0; i < kLanguageTags.size(); ++i) {
    if (equal_ignoring_case(kLanguageTags[i], tag)) return static_cast<std::uint8_t>(i);
  }
  return std::nullopt;
}

void read_headers(const Node& node, AnswerRule& answers, Mistakes& mistakes) {
  if (!is_sequence(node, "headers", "headers: [ietf] (headers: [] means none)", mistakes)) return;
  answers.headers.clear();
  for (const Node& item : node.items) {
    const auto dialect = read_word(item, "headers", kHeaderDialectNames, mistakes);
    if (!dialect) continue;
    const auto id = static_cast<std::uint8_t>(*dialect);
    if (std::find(answers.headers.begin(), answers.headers.end(), id) != answers.headers.end()) {
      mistakes.add(item.at, "headers: " + shown(item.text) + " is here twice; keep one");
      continue;
    }
    for (const std::uint8_t other : answers.headers) {
      // The same field twice, with two meanings, would help nobody.
      const std::string_view name = kHeaderDialectNames[other];
      if (name.substr(0, 4) == kHeaderDialectNames[id].substr(0, 4)) {
        mistakes.add(item.at, "headers: " + shown(item.text) + " and " + shown(name) +
                                  " write the same fields; keep one");
      }
    }
    answers.headers.push_back(id);
  }
}

}  // namespace

void read_responses(const Node& node, Reading& reading) {
  Mistakes& mistakes = reading.mistakes;
  if (!is_mapping(node, "responses", "responses: {headers: [ietf], language: en}", mistakes)) {
    return;
  }
  check_keys(node, kResponsesWords, mistakes);
  AnswerRule& answers = reading.ruleset.answers;
  if (const Entry* headers = node.find("headers")) read_headers(headers->value, answers, mistakes);
  if (const Entry* language = node.find("language")) {
    const auto known = read_word(language->value, "language", kLanguageTags, mistakes);
    if (known) answers.language = static_cast<std::uint8_t>(*known);
  }
  if (const Entry* status = node.find("deny_status")) {
    answers.deny_status =
        read_status(status->value, "deny_status", mistakes).value_or(answers.deny_status);
  }
}

std::optional<int> read_deny(const Node& node, Mistakes& mistakes) {
  if (!is_mapping(node, "deny", "deny: {status: 503}", mistakes)) return std::nullopt;
  check_keys(node, kDenyWords, mistakes);
  const Entry* status = required(node, "status", kDenyWords,
                                 "deny has no status; write deny: {status: 503}", mistakes);
  return status == nullptr ? std::nullopt : read_status(status->value, "status", mistakes);
}

std::vector<Text> read_title(const Node& node, Mistakes& mistakes) {
  std::vector<Text> titles;
  if (node.is_scalar()) {
    // Whatever language that is: everybody gets it.
    if (const auto text = text_of(node, "title", kTitleExample, mistakes)) {
      if (!check_title(*text, node.at, mistakes)) return titles;
      for (std::size_t i = 0; i < kLanguageTags.size(); ++i) {
        titles.push_back({static_cast<std::uint8_t>(i), std::string(*text)});
      }
    }
    return titles;
  }
  if (!is_mapping(node, "title", kTitleExample, mistakes)) return titles;
  if (node.entries.empty()) {
    mistakes.add(node.at,
                 "title: no language is written; write for example " + std::string(kTitleExample));
  }
  for (const Entry& entry : node.entries) {
    const auto language = language_of(entry.key);
    if (!language) {
      mistakes.add(entry.at, "title: " + shown(entry.key) + " is no language that suimon speaks; " +
                                 advice(entry.key, kLanguageTags));
      continue;
    }
    const auto text = text_of(entry.value, shown(entry.key), kTitleExample, mistakes);
    if (text && check_title(*text, entry.value.at, mistakes)) {
      titles.push_back({*language, std::string(*text)});
    }
  }
  return titles;
}

}  // namespace suimon
