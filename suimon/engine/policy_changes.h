// What a reload changed, in words for the people who read the log.
//
// Thread rule: values and pure functions. Complexity: O(limits * log limits).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "suimon/policy/ruleset.h"

namespace suimon {

// Something that is there before and after and is not the same.
struct Change {
  std::string name;               // of a limit ("domain/limit") or of a domain
  std::vector<std::string> what;  // "capacity 10 -> 20", "key [user] -> [api_key]", "title"

  std::string to_string() const;  // "shop/per-user: capacity 10 -> 20, refill 2/s -> 5/s"
};

// Limits by their names ("domain/limit"), in the order of names.
struct PolicyChanges {
  std::vector<std::string> added;
  std::vector<Change> changed;
  std::vector<std::string> removed;
  std::size_t unchanged = 0;
  std::vector<Change> domains;  // what a domain says besides its limits

  bool any() const {
    return !added.empty() || !changed.empty() || !removed.empty() || !domains.empty();
  }
};

// What makes `after` of `before`; no policy (null) has no limits.
PolicyChanges changes_between(const Policy* before, const Policy& after);

// The settings that differ, as the file names them: "server.http", "store.url". They are read when
// the program starts.
std::vector<std::string> changed_settings(const Settings& before, const Settings& after);

}  // namespace suimon
