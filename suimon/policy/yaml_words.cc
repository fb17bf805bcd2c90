#include "suimon/policy/yaml_words.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace suimon {
namespace {

Place place_at(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const auto starts_character = [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  };
  const std::string_view line = before.substr(line_start);
  return {static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(std::count_if(line.begin(), line.end(), starts_character)) + 1};
}

// What libyaml says, and what we say instead. `begin` stands for the place where the thing that
// it was reading began.
struct Phrase {
  std::string_view problem;
  std::string_view ours;
};

constexpr Phrase kPhrases[] = {
    {"did not find expected ',' or ']'",
     "a `,` or `]` is expected here; the list begins at {begin}"},
    {"did not find expected ',' or '}'",
     "a `,` or `}` is expected here; the mapping begins at {begin}"},
    {"did not find expected key",
     "a key, such as `name:`, is expected here; is this line indented as the others from {begin} "
     "on?"},
    {"did not find expected '-' indicator",
     "a `- ` is expected here; is this line indented as the others from {begin} on?"},
    {"did not find expected <document start>",
     "this does not belong to what stands before it; is it indented as the first line?"},
    {"mapping values are not allowed in this context",
     "a `:` is not expected here; is the line before complete, and are both indented alike? A "
     "value that holds `: ` must be in quotes"},
    {"block sequence entries are not allowed in this context",
     "a `- ` is not expected here; begin the list on the line below its key, or write [a, b]"},
    {"could not find expected ':'", "`key: value` is expected here, and the `:` is missing"},
    {"found unexpected end of stream",
     "the file ends inside the quotes that are opened at {begin}; close them"},
    {"found unexpected document indicator",
     "the document ends inside the quotes that are opened at {begin}; close them"},
    {"found unknown escape character",
     "this escape is unknown between double quotes; write \\\\ for a backslash, or use single "
     "quotes"},
    {"did not find expected alphabetic or numeric character",
     "a value that begins with `*` or `&` must be in quotes"},
    {"did not find expected node content", "a key or a value is expected here"},
    {"found a tab character that violates indentation", "a tab cannot indent; write spaces"},
};

// A character that no value can begin with, from the text at the place of the mistake.
std::string bad_beginning(std::string_view text, std::size_t character_index) {
  std::size_t at = 0;  // libyaml counts characters
  for (; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;
    if (character_index-- == 0) break;
  }
  if (at < text.size() && text[at] == '\t') return "a tab cannot indent; write spaces";
  const std::string_view character = at < text.size() ? text.substr(at, 1) : "";
  return "a value that begins with " + shown(character) + " must be in quotes";
}

std::string fill(std::string_view ours, Place begin) {
  std::string out(ours);
  constexpr std::string_view kBegin = "{begin}";
  if (const std::size_t at = out.find(kBegin); at != std::string::npos) {
    out.replace(at, kBegin.size(), to_string(begin));
  }
  return out;
}

}  // namespace

Place place_of(const yaml_mark_t& mark) {
  return {static_cast<int>(mark.line) + 1, static_cast<int>(mark.column) + 1};
}

void add_syntax_mistake(const yaml_parser_t& parser, std::string_view text, Mistakes& mistakes) {
  const std::string_view problem = parser.problem != nullptr ? parser.problem : "unknown reason";
  if (parser.error == YAML_MEMORY_ERROR) {
    mistakes.add({}, "cannot be read: out of memory");
    return;
  }
  if (parser.error == YAML_READER_ERROR) {
    const Place at = place_at(text, std::min(parser.problem_offset, text.size()));
    mistakes.add(at, problem == "control characters are not allowed"
                         ? "a control character is not allowed here; write it as an escape "
                           "between double quotes, such as \"\\x07\""
                         : "this is not UTF-8 text (" + std::string(problem) + ")");
    return;
  }
  const Place at = place_of(parser.problem_mark);
  if (problem == "found character that cannot start any token") {
    mistakes.add(at, bad_beginning(text, parser.problem_mark.index));
    return;
  }
  // Without a context the mark is not set.
  const Place begin = parser.context != nullptr ? place_of(parser.context_mark) : at;
  for (const Phrase& phrase : kPhrases) {
    if (problem == phrase.problem) {
      mistakes.add(at, fill(phrase.ours, begin));
      return;
    }
  }
  std::string said = "not YAML: " + std::string(problem);
  if (parser.context != nullptr) said += ", " + std::string(parser.context);
  mistakes.add(at, said);
}

}  // namespace suimon
