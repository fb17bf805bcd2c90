#include "apps/suimon/reload_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "suimon/base/json.h"

namespace suimon::app {
namespace {

void append_list(std::string_view name, const std::vector<std::string>& texts, std::string& out) {
  out += fmt::format("{}\"{}\":[", out.size() == 1 ? "" : ",", name);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i != 0) out += ',';
    append_json_string(out, texts[i]);
  }
  out += ']';
}

}  // namespace

Result<std::string> reload_answer(const Reloaded& reloaded) {
  if (!reloaded.outcome) {
    if (reloaded.mistakes.empty()) return failure(reloaded.outcome.error().text);
    constexpr std::size_t kMostNamed = 20;
    std::string wrong = "the running policy stays";
    for (std::size_t i = 0; i < std::min(kMostNamed, reloaded.mistakes.size()); ++i) {
      wrong += "\n" + reloaded.mistakes[i];
    }
    return failure(std::move(wrong));
  }
  std::vector<std::string> changed;
  for (const Change& change : reloaded.outcome->changed) changed.push_back(change.name);
  std::string out = "{";
  append_list("added", reloaded.outcome->added, out);
  append_list("changed", changed, out);
  append_list("removed", reloaded.outcome->removed, out);
  out += fmt::format(",\"unchanged\":{}", reloaded.outcome->unchanged);
  append_list("needs_restart", reloaded.needs_restart, out);
  return out + '}';
}

}  // namespace suimon::app
