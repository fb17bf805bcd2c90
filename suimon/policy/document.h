// YAML text as a small tree in which everything knows its place.
//
// Only the part of YAML that a policy needs: one document; scalars, lists and mappings; keys are
// text. Aliases are refused, so a small file cannot describe a large tree, and so are tags and
// duplicate keys. Bounded: 4 MiB of text, 32 levels, 100,000 nodes.
//
// Thread rule: values and a pure function. Complexity: O(length of the text).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/policy/mistakes.h"

namespace suimon {

struct Entry;

struct Node {
  enum class Kind : std::uint8_t {
    null,
    scalar,
    sequence,
    mapping,
    refused,  // an alias: it has its mistake already, and no further one is told
  };

  Kind kind = Kind::null;
  bool quoted = false;  // a scalar in quotes, or a block of text
  Place at;
  std::string text;            // of a scalar
  std::vector<Node> items;     // of a sequence
  std::vector<Entry> entries;  // of a mapping, in the order of the file, each key once

  bool is_null() const { return kind == Kind::null; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_sequence() const { return kind == Kind::sequence; }
  bool is_mapping() const { return kind == Kind::mapping; }
  bool is_refused() const { return kind == Kind::refused; }

  // The entry of a mapping with this key; nullptr when there is none.
  const Entry* find(std::string_view key) const;
};

struct Entry {
  std::string key;
  Place at;  // of the key
  Node value;
};

inline constexpr std::size_t kMostDocumentBytes = std::size_t{4} << 20;
inline constexpr int kMostDocumentDepth = 32;
inline constexpr int kMostDocumentNodes = 100'000;

// Reads one document. What is wrong goes to `mistakes`; false when it was so wrong that the tree
// ends early. An empty document is a null node.
bool parse_document(std::string_view text, Node& root, Mistakes& mistakes);

}  // namespace suimon
