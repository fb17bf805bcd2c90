#include "apps/suimon/trial.h"

#include <algorithm>

#include "apps/suimon/load.h"
#include "apps/suimon/print.h"
#include "suimon/policy/guess.h"
#include "suimon/policy/vocabulary.h"

namespace suimon::app {

std::optional<Asked> read_asked(const std::vector<std::string>& arguments) {
  Asked asked;
  for (const std::string& text : arguments) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      app::print(stderr, "{}: write an attribute as name=value, such as client_ip=203.0.113.9\n",
                 text);
      return std::nullopt;
    }
    const std::string_view name = std::string_view(text).substr(0, equals);
    const std::string_view value = std::string_view(text).substr(equals + 1);
    const auto same = [&](const Attribute& earlier) { return earlier.name == name; };
    if (name == "domain") {
      asked.domain = value;
    } else if (std::any_of(asked.attributes.begin(), asked.attributes.end(), same)) {
      app::print(stderr, "the attribute {} is given twice; keep one\n", name);
      return std::nullopt;
    } else {
      asked.attributes.push_back({name, value});
    }
  }
  return asked;
}

void doubt_names(const Asked& asked, const Policy& policy) {
  const Ruleset* const ruleset = policy.find(asked.domain);
  if (ruleset == nullptr) return;
  std::vector<std::string_view> known(ruleset->attributes.begin(), ruleset->attributes.end());
  for (const Alias& alias : ruleset->aliases) known.emplace_back(alias.name);
  for (const std::string_view built_in : built_in_attributes()) known.push_back(built_in);
  for (const Attribute& attribute : asked.attributes) {
    if (std::find(known.begin(), known.end(), attribute.name) != known.end()) continue;
    const auto meant = probably_meant(attribute.name, known);
    app::print(stderr, "warning: no limit looks at {}{}\n", attribute.name,
               meant ? "; did you mean " + std::string(*meant) + "?" : "");
  }
}

const char* why_not(Verdict::Status status) {
  switch (status) {
    case Verdict::Status::bad_path:
      return "the path cannot be decoded; write it as in a request, beginning with /";
    case Verdict::Status::too_many_limits:
      return "more than 16 limits apply to this request";
    case Verdict::Status::unknown_domain:
      return "no such domain is loaded, or several are and none was named; write domain=NAME";
    case Verdict::Status::store_failed:
    case Verdict::Status::decided:
      break;
  }
  return "the store did not answer";
}

std::unique_ptr<Trial> Trial::open(const std::string& config, const Secret& secret, Instant start) {
  auto policy = load_or_explain(config);
  if (!policy) return nullptr;
  std::unique_ptr<Trial> trial(new Trial(secret, start));
  auto installed = trial->live_.install(std::move(*policy), Instant{});
  if (!installed) {
    app::print(stderr, "{}: {}\n", config, installed.error().text);
    return nullptr;
  }
  trial->engine_ =
      std::make_unique<Engine>(trial->live_, trial->store_, trial->nobody_, trial->clock_);
  return trial;
}

}  // namespace suimon::app
