// Patterns of the policy file: globs over values, and paths by whole segments.
//
// Thread rule: immutable after making; pure functions. Matching is O(pattern * text) at worst and
// allocates nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/result.h"

namespace suimon {

// Whether `text` matches `glob`, in which each '*' stands for any characters, also none.
bool glob_matches(std::string_view glob, std::string_view text);

// A request target as paths are compared: the query and fragment dropped, escapes of unreserved
// characters decoded (RFC 3986 section 6.2.2), dot segments removed (section 5.2.4), slashes
// merged; an encoded slash stays encoded, with capital digits. Written into `out` (replaced).
// False when it cannot be decoded: a broken escape, a control character, or no leading slash.
// An absolute form ("http://host/path") counts by its path; "*" stands for itself.
bool normalize_path(std::string_view target, std::string& out);

// A path pattern: "*" within a segment, "**" for any number of whole segments.
class PathPattern {
 public:
  // Fails for a pattern that does not begin with "/", that cannot be decoded, or that has "**"
  // beside other characters in one segment.
  static Result<PathPattern> make(std::string_view pattern);

  // Requires a normalized path.
  bool matches(std::string_view path) const;

 private:
  struct Segment {
    std::string glob;
    bool any_number = false;  // "**"
  };
  std::vector<Segment> segments_;
};

}  // namespace suimon
