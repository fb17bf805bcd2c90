// suimon check: the policy's answer to made-up requests, in virtual time.

#include <optional>

#include "apps/suimon/commands.h"
#include "apps/suimon/print.h"
#include "apps/suimon/trial.h"
#include "suimon/base/json.h"
#include "suimon/base/text.h"
#include "suimon/reply/body.h"
#include "suimon/reply/facts.h"
#include "suimon/reply/locales.h"

namespace suimon::app {
namespace {

constexpr std::int64_t kMostSeconds = 9'000'000'000;  // 285 years

// "1.5" seconds, exactly, in nanoseconds; nothing for anything else.
std::optional<Duration> parse_seconds(std::string_view text) {
  const auto dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  std::string decimals(dot == std::string_view::npos ? std::string_view{} : text.substr(dot + 1));
  if (whole.empty() || decimals.size() > 9 || (dot != std::string_view::npos && decimals.empty())) {
    return std::nullopt;
  }
  decimals.resize(9, '0');
  const auto seconds = parse_number<std::int64_t>(whole);
  const auto nanoseconds = parse_number<std::int64_t>(decimals);
  if (!seconds || !nanoseconds || *seconds < 0 || *seconds > kMostSeconds) return std::nullopt;
  return std::chrono::seconds(*seconds) + Duration(*nanoseconds);
}

// What a flag says; a mistake is told.
std::optional<Duration> seconds_of(std::string_view flag, std::string_view text) {
  const auto seconds = parse_seconds(text);
  if (!seconds) {
    std::string read;
    append_json_string(read, text);
    app::print(stderr,
               "{}: {} is no number of seconds; write 0 to {}, with up to nine decimals, such as "
               "1.5\n",
               flag, read, kMostSeconds);
  }
  return seconds;
}

// `language` as in Accept-Language; "" is the policy's.
void print(const Verdict& verdict, Instant now, std::string_view language) {
  const Facts facts = facts_of(verdict);
  const auto wait = facts.retry_after();
  const std::string extra =
      fmt::format(",\"t\":{}.{:09},\"retry_after_ns\":{}", now.ns / 1'000'000'000,
                  now.ns % 1'000'000'000, wait ? fmt::format("{}", wait->count()) : "null");
  std::string line;
  if (verdict.allowed()) {
    append_check_body(facts, line, extra);
  } else {
    const Locale& locale = choose_locale(language, facts.answers->language);
    append_refusal_body(facts, facts.deny_status(), locale, line, extra);
  }
  app::print(stdout, "{}\n", line);
}

struct Heard {
  std::string_view language;
  Instant now;
  bool refused = false;
  const char* failure = nullptr;
};

}  // namespace

int check(const CheckOptions& options) {
  const auto at = seconds_of("--at", options.at);
  const auto every = seconds_of("--every", options.every);
  if (!at || !every) return kWrongUsage;
  const auto asked = read_asked(options.attributes);
  if (!asked) return kWrongUsage;
  const auto trial = Trial::open(options.config, random_secret(), Instant{*at});
  if (!trial) return kWrongUsage;
  doubt_names(*asked, trial->engine().policy());
  ManualClock& clock = trial->clock();
  Engine& engine = trial->engine();
  Heard heard{options.language, {}, false, nullptr};
  const Request request{asked->domain, asked->attributes, options.cost};
  for (std::uint64_t i = 0; i < options.times && heard.failure == nullptr; ++i) {
    heard.now = clock.now();
    engine.wake(heard.now);
    engine.decide({&request, 1}, 0,
                  {[](void* context, std::span<const Verdict> verdicts) {
                     Heard& ear = *static_cast<Heard*>(context);
                     const Verdict& verdict = verdicts.front();
                     if (verdict.status != Verdict::Status::decided) {
                       ear.failure = why_not(verdict.status);
                       return;
                     }
                     ear.refused = ear.refused || !verdict.allowed();
                     print(verdict, ear.now, ear.language);
                   },
                   &heard});
    clock.advance(*every);
  }
  if (heard.failure != nullptr) {
    app::print(stderr, "{}\n", heard.failure);
    return kWrongUsage;
  }
  return heard.refused && options.exit_code ? kRefused : kGood;
}

}  // namespace suimon::app
