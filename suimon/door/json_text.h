// What the readers of JSON bodies share: one parser with its memory, and the members that several
// bodies have. Private to the readers of this room: it brings simdjson along.
//
// Thread rule: a JsonText is one thread's; the functions are pure.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>
#include <vector>

#include "suimon/policy/request.h"
#include "suimon/result.h"

namespace suimon::door {

class JsonText {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  // The value that `body` is. It and the texts in it live until the next parse().
  Result<simdjson::dom::element> parse(std::string_view body);

 private:
  simdjson::dom::parser parser_{kMostBytes};
  std::vector<char> padded_;  // simdjson reads a little beyond the end
};

// `text` in quotes, its beginning when it is long.
std::string quoted(std::string_view text);

// Appends the members of an object of strings, at most 64; or says what is wrong with them.
std::string read_attributes(const simdjson::dom::element& value,
                            std::vector<Attribute>& attributes);

}  // namespace suimon::door
