// suimon explain: which limits apply to a made-up request, and why or why not.

#include "suimon/policy/explain.h"

#include "apps/suimon/commands.h"
#include "apps/suimon/print.h"
#include "apps/suimon/trial.h"
#include "suimon/base/json.h"
#include "suimon/policy/quantity.h"

namespace suimon::app {
namespace {

using Why = ExplainedLimit::Why;

constexpr std::array<std::string_view, 5> kWhyNames = {"applies", "mismatch", "free", "missing",
                                                       "denied"};

// Where a limit stands for a client that it has not met.
struct Stand {
  std::uint64_t remaining = 0;
  Duration reset_after{0};
};

std::string refill_text(const Limit& limit) {
  return fmt::format("{} per {}", limit.refill.tokens, duration_text(limit.refill.period));
}

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);  // so that nothing in it moves the terminal's cursor
  return out;
}

std::string list_of(const std::vector<std::string>& patterns, std::string_view between) {
  std::string out;
  for (const std::string& pattern : patterns) {
    out += (out.empty() ? std::string_view{} : between);
    out += quoted(pattern);
  }
  return out;
}

const Stand* stand_of(const std::vector<std::pair<const LimitRule*, Stand>>& stands,
                      const LimitRule* rule) {
  for (const auto& [of, stand] : stands) {
    if (of == rule) return &stand;
  }
  return nullptr;
}

std::string headline(const ExplainedLimit& limit) {
  switch (limit.why) {
    case Why::mismatch:
      return "does not apply: it matches other requests";
    case Why::free:
      return "does not apply: the cost is 0";
    case Why::skipped:
      return fmt::format("does not apply: {} is missing, and on_missing says skip", limit.missing);
    case Why::denied:
      return fmt::format("refuses: {} is missing, and on_missing says deny", limit.missing);
    case Why::applies:
      break;
  }
  return limit.rule->shadow ? "applies as a shadow: it refuses nobody" : "applies";
}

void print_text(const ExplainedLimit& limit, const Stand* stand) {
  std::string out = fmt::format("{}: {}\n", limit.rule->name, headline(limit));
  for (const ExplainedMatcher& matcher : limit.match) {
    out += fmt::format("  match   {} {} {} {}\n", matcher.attribute,
                       matcher.value.empty() ? "is missing;" : quoted(matcher.value),
                       matcher.matches ? "is" : (matcher.value.empty() ? "wanted is" : "is not"),
                       list_of(matcher.patterns, " or "));
  }
  for (const auto& [name, value] : limit.key) {
    out += fmt::format("  key     {} {}\n", name, value.empty() ? "is missing" : quoted(value));
  }
  if (limit.rule->key.empty()) out += "  key     none: one bucket for everybody\n";
  if (!limit.tier_attribute.empty()) {
    const bool asked = limit.tier_asked == limit.bucket->tier;
    out += fmt::format("  tier    {}{}\n", limit.bucket->tier,
                       asked ? std::string()
                             : fmt::format(", the default: {} {}", limit.tier_attribute,
                                           limit.tier_asked.empty()
                                               ? "is missing"
                                               : quoted(limit.tier_asked) + " is no tier here"));
  }
  out += fmt::format("  bucket  {} tokens, refilled by {}\n", limit.bucket->parameters.capacity,
                     refill_text(limit.bucket->parameters));
  if (limit.cost_rule != nullptr) {
    out += fmt::format("  cost    {} by rule {} of {}\n", limit.cost,
                       limit.cost_rule - limit.rule->cost.data() + 1, limit.rule->cost.size());
  } else {
    out += fmt::format("  cost    {}{}\n", limit.cost,
                       limit.rule->cost.empty() ? "" : ": no rule of cost matches");
  }
  if (stand != nullptr) {
    out += fmt::format("  state   {} of {} tokens, for a client that is new\n", stand->remaining,
                       limit.bucket->parameters.capacity);
  }
  app::print(stdout, "{}", out);
}

std::string json_of(const ExplainedLimit& limit, const Stand* stand) {
  std::string match;
  for (const ExplainedMatcher& matcher : limit.match) {
    match += fmt::format("{}{{\"attribute\":{},\"value\":{},\"patterns\":[{}],\"matches\":{}}}",
                         match.empty() ? "" : ",", quoted(matcher.attribute),
                         matcher.value.empty() ? "null" : quoted(matcher.value),
                         list_of(matcher.patterns, ","), matcher.matches);
  }
  std::string key;
  for (const auto& [name, value] : limit.key) {
    key += fmt::format("{}{}:{}", key.empty() ? "" : ",", quoted(name),
                       value.empty() ? "null" : quoted(value));
  }
  const bool tiered = !limit.tier_attribute.empty();
  return fmt::format(
      "{{\"name\":{},\"applies\":{},\"why\":\"{}\",\"missing\":{},\"match\":[{}],\"key\":{{{}}},"
      "\"tier\":{},\"tier_asked\":{},\"capacity\":{},\"refill\":{},\"cost\":{},\"cost_rule\":{},"
      "\"advertise\":{},\"shadow\":{},\"remaining\":{},\"reset_after_ms\":{}}}",
      quoted(limit.rule->name), limit.applies(), kWhyNames[static_cast<std::size_t>(limit.why)],
      limit.missing.empty() ? "null" : quoted(limit.missing), match, key,
      tiered ? quoted(limit.bucket->tier) : "null",
      limit.tier_asked.empty() ? "null" : quoted(limit.tier_asked),
      limit.bucket->parameters.capacity, quoted(refill_text(limit.bucket->parameters)), limit.cost,
      limit.cost_rule == nullptr ? "null"
                                 : fmt::format("{}", limit.cost_rule - limit.rule->cost.data() + 1),
      limit.rule->advertise, limit.rule->shadow,
      stand == nullptr ? "null" : fmt::format("{}", stand->remaining),
      stand == nullptr ? "null" : fmt::format("{}", stand->reset_after.count() / 1'000'000));
}

}  // namespace

int explain(const ExplainOptions& options) {
  const auto asked = read_asked(options.attributes);
  if (!asked) return kWrongUsage;
  const auto trial = Trial::open(options.config, random_secret());
  if (!trial) return kWrongUsage;
  doubt_names(*asked, trial->engine().policy());

  // Looked at without taking, so that the state is what a client would find.
  struct Heard {
    Verdict::Status status = Verdict::Status::decided;
    std::vector<std::pair<const LimitRule*, Stand>> stands;
    void hear(const Judged& judged) {
      for (std::size_t i = 0; i < judged.decisions.size(); ++i) {
        const Decision& decision = judged.decisions[i];
        stands.emplace_back(judged.applied[i].rule,
                            Stand{decision.remaining(), decision.reset_after()});
      }
    }
  } heard;
  const Request request{asked->domain, asked->attributes, 0};
  trial->engine().decide({&request, 1}, 0,
                         {[](void* context, std::span<const Verdict> verdicts) {
                            Heard& ear = *static_cast<Heard*>(context);
                            const Verdict& verdict = verdicts.front();
                            ear.status = verdict.status;
                            ear.hear(verdict);
                            ear.hear(verdict.shadows);
                          },
                          &heard});
  const Ruleset* const ruleset = trial->engine().policy().find(asked->domain);
  if (heard.status != Verdict::Status::decided) {
    app::print(stderr, "{}\n", why_not(heard.status));
    return kWrongUsage;
  }
  const auto limits = suimon::explain(*ruleset, request);
  if (!limits) {
    app::print(stderr, "{}\n", why_not(Verdict::Status::bad_path));
    return kWrongUsage;
  }
  std::string json;
  for (const ExplainedLimit& limit : *limits) {
    const Stand* const stand = stand_of(heard.stands, limit.rule);
    if (options.json) {
      json += (json.empty() ? "" : ",") + json_of(limit, stand);
    } else {
      print_text(limit, stand);
    }
  }
  if (options.json) {
    app::print(stdout, "{{\"domain\":{},\"limits\":[{}]}}\n", quoted(ruleset->domain), json);
  }
  return kGood;
}

}  // namespace suimon::app
