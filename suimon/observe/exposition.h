// Reading a page of metrics, as Metrics writes it and as any Prometheus client does.
//
// Text exposition format 0.0.4 (Prometheus documentation, "Exposition formats"). Thread rule: pure
// functions. Complexity: linear.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "suimon/result.h"

namespace suimon {

struct Sample {
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;

  // The value of a label, "" if there is none.
  std::string_view label(std::string_view name) const;
};

// Every sample of the page, in order. An error names the line that is no sample. At most 1,000,000
// samples, of at most 64 labels each.
Result<std::vector<Sample>> parse_exposition(std::string_view page);

}  // namespace suimon
