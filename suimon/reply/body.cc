#include "suimon/reply/body.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>

#include "suimon/base/json.h"
#include "suimon/base/text.h"

namespace suimon {
namespace {

constexpr std::string_view kQuotaExceeded =
    "https://iana.org/assignments/http-problem-types#quota-exceeded";
constexpr std::string_view kNever = "urn:suimon:problem:cost-exceeds-capacity";
constexpr std::string_view kMissing = "urn:suimon:problem:missing-attribute";
constexpr std::string_view kOverloaded = "urn:suimon:problem:overloaded";

void append_ms(const std::optional<Duration>& wait, std::string& out) {
  if (wait) {
    append_number(ceil_to(*wait, std::chrono::milliseconds(1)), out);
  } else {
    out += "null";
  }
}

void append_bool(bool value, std::string& out) { out += value ? "true" : "false"; }

void append_limit(const LimitFacts& limit, std::string& out) {
  out += "{\"name\":";
  append_json_string(out, limit.name);
  out += ",\"allowed\":";
  append_bool(!limit.refused(), out);
  out += ",\"capacity\":";
  append_number(limit.capacity, out);
  out += ",\"remaining\":";
  append_number(limit.remaining, out);
  out += ",\"retry_after_ms\":";
  append_ms(limit.retry_after, out);
  out += ",\"reset_after_ms\":";
  append_ms(limit.reset_after, out);
  out += ",\"shadow\":";
  append_bool(limit.shadow, out);
  out.push_back('}');
}

// The members that every answer to a check has. `all` shows also limits that are not advertised,
// and shadow limits.
void append_members(const Facts& facts, bool all, std::string& out) {
  const LimitFacts* binding = facts.binding(!all && facts.outcome == Outcome::allowed);
  out += "\"allowed\":";
  append_bool(facts.outcome == Outcome::allowed, out);
  out += ",\"binding\":";
  if (binding == nullptr) {
    out += "null,\"remaining\":null,\"retry_after_ms\":null,\"reset_after_ms\":null";
  } else {
    append_json_string(out, binding->name);
    out += ",\"remaining\":";
    append_number(binding->remaining, out);
    out += ",\"retry_after_ms\":";
    append_ms(facts.retry_after(), out);
    out += ",\"reset_after_ms\":";
    append_ms(binding->reset_after, out);
  }
  out += ",\"limits\":[";
  bool first = true;
  for (const LimitFacts& limit : facts.all()) {
    if (!all && !limit.advertise && !limit.refused()) continue;
    if (!first) out.push_back(',');
    append_limit(limit, out);
    first = false;
  }
  for (const LimitFacts& limit : facts.shadows()) {
    if (!all) break;
    if (!first) out.push_back(',');
    append_limit(limit, out);
    first = false;
  }
  out.push_back(']');
}

// What people call a limit: its title in their language, else in `otherwise`, else its name.
std::string_view title_of(const LimitFacts& limit, std::string_view language,
                          std::string_view otherwise) {
  std::string_view best = limit.name;
  if (limit.rule == nullptr) return best;
  for (const Text& title : limit.rule->titles) {
    const std::string_view tag = kLanguageTags[title.language];
    if (tag == language) return title.text;
    if (tag == otherwise) best = title.text;
  }
  return best;
}

// `text` with its places filled in from `limit`, which people call `title`.
std::string filled(std::string_view text, const LimitFacts& limit, std::string_view title,
                   std::int64_t seconds) {
  std::string sentence;
  for (auto open = text.find('{'); open != std::string_view::npos; open = text.find('{')) {
    const auto close = text.find('}', open);
    const std::string_view place = text.substr(open + 1, close - open - 1);
    sentence += text.substr(0, open);
    if (place == "limit") sentence += title;
    if (place == "attribute") sentence += limit.missing;
    if (place == "seconds") append_number(seconds, sentence);
    if (place == "cost") sentence += fmt::format("{}", limit.cost);
    if (place == "capacity") sentence += fmt::format("{}", limit.capacity);
    text.remove_prefix(close + 1);
  }
  sentence += text;
  return sentence;
}

struct Problem {
  std::string_view type;
  std::string_view title;
  std::string sentence;
};

Problem problem_of(const Facts& facts, const LimitFacts& binding, const Locale& locale) {
  const std::string_view title =
      title_of(binding, locale.tag, kLanguageTags[facts.answers->language]);
  if (!binding.missing.empty()) {
    return {kMissing, locale.missing_title, filled(locale.missing, binding, title, 0)};
  }
  const auto wait = facts.retry_after();
  if (!wait) return {kNever, locale.never_title, filled(locale.never, binding, title, 0)};
  const std::int64_t seconds = retry_after_seconds(*wait);
  const std::string_view sentence = locale.limited(static_cast<std::uint64_t>(seconds));
  return {kQuotaExceeded, locale.limited_title, filled(sentence, binding, title, seconds)};
}

void append_head(std::string_view type, std::string_view title, int status, std::string& out) {
  out += "{\"type\":";
  append_json_string(out, type);
  out += ",\"title\":";
  append_json_string(out, title);
  fmt::format_to(std::back_inserter(out), ",\"status\":{},", status);
}

void append_error(std::string_view sentence, std::string& out) {
  out += "\"error\":";
  append_json_string(out, sentence);
}

}  // namespace

void append_check_body(const Facts& facts, std::string& out, std::string_view extra) {
  out.push_back('{');
  append_members(facts, /*all=*/true, out);
  out += extra;
  out.push_back('}');
}

void append_refusal_body(const Facts& facts, int status, const Locale& locale, std::string& out,
                         std::string_view extra) {
  const LimitFacts* binding = facts.binding();
  if (binding == nullptr) return append_plain_refusal_body(status, locale, out);
  const Problem problem = problem_of(facts, *binding, locale);
  append_head(problem.type, problem.title, status, out);
  append_error(problem.sentence, out);
  out.push_back(',');
  append_members(facts, /*all=*/false, out);
  if (facts.outcome == Outcome::never) out += ",\"never\":true";
  out += ",\"violated-policies\":[";
  bool first = true;
  for (const LimitFacts& limit : facts.all()) {
    if (!limit.refused()) continue;
    if (!first) out.push_back(',');
    append_json_string(out, limit.name);
    first = false;
  }
  out += ']';
  out += extra;
  out += '}';
}

void append_plain_refusal_body(int status, const Locale& locale, std::string& out) {
  append_head(kQuotaExceeded, locale.limited_title, status, out);
  append_error(locale.refused, out);
  out += ",\"allowed\":false}";
}

void append_overloaded_body(const Locale& locale, std::string_view reason, std::string& out) {
  append_head(kOverloaded, locale.overloaded_title, 503, out);
  append_error(locale.overloaded, out);
  out += ",\"detail\":";
  append_json_string(out, reason);
  out.push_back('}');
}

void append_mistake_body(int status, std::string_view title, std::string_view detail,
                         std::string& out) {
  append_head("about:blank", title, status, out);
  out += "\"detail\":";
  append_json_string(out, detail);
  out += ",";
  append_error(detail, out);
  out.push_back('}');
}

}  // namespace suimon
