// suimon check: the policy's answer to made-up requests, in virtual time.

#include <algorithm>
#include <charconv>
#include <optional>

#include "apps/suimon/commands.h"
#include "apps/suimon/load.h"
#include "apps/suimon/print.h"
#include "suimon/base/clock.h"
#include "suimon/engine/engine.h"
#include "suimon/reply/body.h"
#include "suimon/reply/facts.h"
#include "suimon/reply/locales.h"
#include "suimon/store/reference.h"

namespace suimon::app {
namespace {

class Nobody final : public Observer {
 public:
  void decided(DoorId, const Verdict&) override {}
};

// "1.5" seconds, exactly, in nanoseconds; nothing for anything else.
std::optional<Duration> parse_seconds(std::string_view text) {
  constexpr std::int64_t kMostSeconds = 9'000'000'000;
  const auto dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  std::string decimals(dot == std::string_view::npos ? std::string_view{} : text.substr(dot + 1));
  if (whole.empty() || decimals.size() > 9 || (dot != std::string_view::npos && decimals.empty())) {
    return std::nullopt;
  }
  decimals.resize(9, '0');
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  const auto read = [](std::string_view digits, std::int64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc{} && end == digits.data() + digits.size() && value >= 0;
  };
  if (!read(whole, seconds) || !read(decimals, nanoseconds) || seconds > kMostSeconds) {
    return std::nullopt;
  }
  return std::chrono::seconds(seconds) + Duration(nanoseconds);
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

const char* explain(Verdict::Status status) {
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

struct Heard {
  std::string_view language;
  Instant now;
  bool refused = false;
  const char* failure = nullptr;
};

}  // namespace

int check(const CheckOptions& options) {
  const auto at = parse_seconds(options.at);
  const auto every = parse_seconds(options.every);
  if (!at || !every) {
    app::print(stderr, "--at and --every take seconds with up to nine decimals, such as 1.5\n");
    return kWrongUsage;
  }
  std::string_view domain;
  std::vector<Attribute> attributes;
  for (const std::string& text : options.attributes) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      app::print(stderr, "{}: write an attribute as name=value, such as client_ip=203.0.113.9\n",
                 text);
      return kWrongUsage;
    }
    const std::string_view name = std::string_view(text).substr(0, equals);
    const std::string_view value = std::string_view(text).substr(equals + 1);
    const auto same = [&](const Attribute& earlier) { return earlier.name == name; };
    if (name == "domain") {
      domain = value;
    } else if (std::any_of(attributes.begin(), attributes.end(), same)) {
      app::print(stderr, "{}: the attribute {} is given twice\n", text, name);
      return kWrongUsage;
    } else {
      attributes.push_back({name, value});
    }
  }
  auto policy = load_or_explain(options.config);
  if (!policy) return kWrongUsage;

  ReferenceStore store({});
  LivePolicy live(store, random_secret());
  if (auto installed = live.install(std::move(*policy), Instant{}); !installed) {
    app::print(stderr, "{}: {}\n", options.config, installed.error().text);
    return kWrongUsage;
  }
  ManualClock clock(Instant{*at});
  Nobody nobody;
  Engine engine(live, store, nobody, clock);
  Heard heard{options.language, {}, false, nullptr};
  const Request request{domain, attributes, options.cost};
  for (std::uint64_t i = 0; i < options.times && heard.failure == nullptr; ++i) {
    heard.now = clock.now();
    engine.wake(heard.now);
    engine.decide({&request, 1}, 0,
                  {[](void* context, std::span<const Verdict> verdicts) {
                     Heard& ear = *static_cast<Heard*>(context);
                     const Verdict& verdict = verdicts.front();
                     if (verdict.status != Verdict::Status::decided) {
                       ear.failure = explain(verdict.status);
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
