// From limits.yaml to a Policy.
//
// Thread rule: pure apart from reading the files named. Everything is bounded: a file by 4 MiB,
// nesting by 32, nodes by 100,000.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "suimon/policy/ruleset.h"

namespace suimon {

// One mistake: where, what was read, and what would be right.
struct Mistake {
  std::string file;
  int line = 0;    // from 1
  int column = 0;  // from 1
  std::string text;

  // "limits.yaml:3:5: unknown key `rate`; did you mean `refill`?"
  std::string to_string() const;
};

struct Loaded {
  Policy policy;  // complete only when there are no mistakes
  std::vector<Mistake> mistakes;
  std::vector<Mistake> warnings;  // does not stop a policy from being used
  bool ok() const { return mistakes.empty(); }
};

// Compiles the text of one policy file. `file` is only its name in mistakes.
Loaded load_policy_text(std::string_view text, std::string_view file);

// Loads a file, or every *.yaml and *.yml file of a directory in the order of their names. Two
// files with one domain are a mistake.
Loaded load_policy(const std::string& path);

// The files that load_policy(path) reads, as they stand now; `path` itself unless it is a
// directory.
std::vector<std::string> policy_files(const std::string& path);

}  // namespace suimon
