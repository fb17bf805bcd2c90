#include "suimon/policy/reading.h"

#include <algorithm>
#include <utility>

#include "suimon/base/text.h"
#include "suimon/policy/guess.h"
#include "suimon/policy/quantity.h"

namespace suimon {
namespace {

// What was found, as a sentence says it.
std::string found(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing is written";
    case Node::Kind::scalar:
      return shown(node.text) + " is not";
    case Node::Kind::sequence:
      return "a list is not";
    case Node::Kind::mapping:
    case Node::Kind::refused:
      break;
  }
  return "a mapping is not";
}

bool is_kind(const Node& node, Node::Kind kind, std::string_view kind_name, std::string_view what,
             std::string_view example, Mistakes& mistakes) {
  if (node.kind == kind) return true;
  if (node.is_refused()) return false;
  std::string text = std::string(what) + ": " + found(node);
  if (!node.is_null()) text += " " + std::string(kind_name);
  mistakes.add(node.at, text + "; write for example " + std::string(example));
  return false;
}

bool fits_name(char c, NameCase letters) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' ||
         (letters == NameCase::any && c >= 'A' && c <= 'Z');
}

// The name that is nearest to `name` among those that may be.
std::string mended(std::string_view name, NameCase letters) {
  std::string out;
  for (char c : name) {
    if (letters == NameCase::lower && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool fits = fits_name(c, letters);
    if (!fits && (out.empty() || out.back() == '-')) continue;
    out += fits ? c : '-';
  }
  while (out.ends_with('-')) out.pop_back();
  return out;
}

}  // namespace

bool is_mapping(const Node& node, std::string_view what, std::string_view example,
                Mistakes& mistakes) {
  return is_kind(node, Node::Kind::mapping, "a mapping", what, example, mistakes);
}

bool is_sequence(const Node& node, std::string_view what, std::string_view example,
                 Mistakes& mistakes) {
  return is_kind(node, Node::Kind::sequence, "a list", what, example, mistakes);
}

std::optional<std::string_view> text_of(const Node& node, std::string_view what,
                                        std::string_view example, Mistakes& mistakes) {
  if (!is_kind(node, Node::Kind::scalar, "a single value", what, example, mistakes)) return {};
  if (node.text.empty()) {
    mistakes.add(node.at, std::string(what) + ": the value is empty; write for example " +
                              std::string(example));
    return std::nullopt;
  }
  if (node.text.size() > kLongestValue) {
    mistakes.add(node.at,
                 std::string(what) + ": " + shown(node.text) + " is longer than 1,024 bytes");
    return std::nullopt;
  }
  return node.text;
}

bool check_name(std::string_view name, NameCase letters, std::string_view what, Place at,
                Mistakes& mistakes) {
  const bool fits =
      std::all_of(name.begin(), name.end(), [&](char c) { return fits_name(c, letters); });
  if (fits && !name.empty() && name.size() <= kLongestName) return true;
  std::string text = std::string(what) + ": " + shown(name);
  if (name.size() > kLongestName) {
    text += " is longer than 64 characters";
  } else {
    const std::string cure = mended(name, letters);
    text += letters == NameCase::lower ? " may have only a-z, 0-9, `.`, `_` and `-`"
                                       : " may have only letters, digits, `.`, `_` and `-`";
    if (!cure.empty()) text += "; write " + shown(cure);
  }
  mistakes.add(at, text);
  return false;
}

std::optional<AttributeId> attribute_id(std::string_view name, Place at, Reading& reading) {
  auto& attributes = reading.ruleset.attributes;
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && c != 0x7F;
  });
  if (name.empty() || name.size() > kLongestName || !plain) {
    reading.mistakes.add(at, shown(name) +
                                 " is no name of an attribute; write 1 to 64 characters without "
                                 "spaces");
    return std::nullopt;
  }
  const auto found = std::find(attributes.begin(), attributes.end(), name);
  if (found != attributes.end()) return static_cast<AttributeId>(found - attributes.begin());
  if (attributes.size() == Ruleset::kMostAttributes) {
    reading.mistakes.add(at, shown(name) + " is one attribute too many; a policy has at most 64");
    return std::nullopt;
  }
  attributes.emplace_back(name);
  reading.first_named.push_back(at);
  return static_cast<AttributeId>(attributes.size() - 1);
}

std::optional<bool> read_flag(const Node& node, std::string_view what, Mistakes& mistakes) {
  const std::string name(what);
  const auto text = text_of(node, what, name + ": true", mistakes);
  if (!text) return std::nullopt;
  if (*text == "true" || *text == "false") return *text == "true";
  mistakes.add(node.at, name + ": " + shown(*text) + " is neither true nor false");
  return std::nullopt;
}

std::optional<std::uint64_t> read_whole(const Node& node, std::string_view what,
                                        std::uint64_t least, std::uint64_t most,
                                        std::string_view cure, Mistakes& mistakes) {
  const std::string name(what);
  const auto text = text_of(node, what, name + ": " + std::to_string(least), mistakes);
  if (!text) return std::nullopt;
  const auto value = parse_number<std::uint64_t>(*text);
  if (value && *value >= least && *value <= most) return value;
  mistakes.add(node.at, name + ": " + shown(*text) + " is no whole number from " +
                            std::to_string(least) + " to " + std::to_string(most) +
                            std::string(cure));
  return std::nullopt;
}

std::optional<std::size_t> read_word(const Node& node, std::string_view what,
                                     std::span<const std::string_view> words, Mistakes& mistakes) {
  const std::string name(what);
  const auto text = text_of(node, what, name + ": " + std::string(words.front()), mistakes);
  if (!text) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), *text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  mistakes.add(node.at, name + ": " + shown(*text) + " is unknown; " + advice(*text, words));
  return std::nullopt;
}

namespace {

std::optional<std::uint64_t> read_capacity(const Node& node, Mistakes& mistakes) {
  const auto text = text_of(node, "capacity", "capacity: 10", mistakes);
  if (!text) return std::nullopt;
  const auto count = parse_count(*text);
  if (count && *count > 0) return *count;
  const Error why =
      count ? validate({.capacity = 0, .refill = per_second(1)}).error() : count.error();
  mistakes.add(node.at, "capacity: " + why.text);
  return std::nullopt;
}

std::optional<Rate> read_refill(const Node& node, Mistakes& mistakes) {
  const auto text = text_of(node, "refill", "refill: 5/s", mistakes);
  if (!text) return std::nullopt;
  const auto rate = parse_rate(*text);
  if (rate) return *rate;
  mistakes.add(node.at, "refill: " + rate.error().text);
  return std::nullopt;
}

}  // namespace

std::optional<Limit> read_parameters(const Node& node, const Vocabulary& words,
                                     Mistakes& mistakes) {
  const std::string where(words.where);
  const Entry* capacity = required(
      node, "capacity", words,
      where + " has no capacity; write capacity: 10, the most that may come at once", mistakes);
  const Entry* refill =
      required(node, "refill", words,
               where + " has no refill; write refill: 5/s, the rate that may go on", mistakes);
  const auto tokens = capacity ? read_capacity(capacity->value, mistakes) : std::nullopt;
  const auto rate = refill ? read_refill(refill->value, mistakes) : std::nullopt;
  if (!tokens || !rate) return std::nullopt;
  const Limit limit{.capacity = *tokens, .refill = *rate};
  if (const auto valid = validate(limit); !valid) {
    mistakes.add(refill->value.at, "refill: " + valid.error().text);
    return std::nullopt;
  }
  return limit;
}

}  // namespace suimon
