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

// A request target as paths are compared: the query and fragment dropped, dot segments removed (RFC
// 3986 section 5.2.4), slashes merged, and one form for each character: unreserved ones and
// : @ ! $ & ' ( ) + , = stand as they are, everything else but / * ; is an escape with capital
// digits. So an encoded slash stays encoded. Written into `out` (replaced).
// False when it cannot be decoded: a broken escape, a control character, no leading slash, or more
// than 8 KiB. An absolute form ("http://host/path") counts by its path; "*" stands for itself.
bool normalize_path(std::string_view target, std::string& out);

// A host as hosts are compared: in lower case, without a port and a final dot (RFC 9110 section
// 4.2.3, RFC 3986 section 3.2.2). Written into `out` (replaced).
void normalize_host(std::string_view host, std::string& out);

// A path pattern: "*" within a segment, "**" for any number of whole segments.
class PathPattern {
 public:
  // Fails for a pattern that does not begin with "/", that cannot be decoded, or that has "**"
  // beside other characters in one segment.
  static Result<PathPattern> make(std::string_view pattern);

  // Requires a normalized path.
  bool matches(std::string_view path) const;

  // The pattern, normalized.
  std::string text() const;

 private:
  struct Segment {
    std::string glob;
    bool any_number = false;  // "**"
  };
  std::vector<Segment> segments_;
};

}  // namespace suimon
