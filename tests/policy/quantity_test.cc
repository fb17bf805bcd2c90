// Counts, durations and rates as people write them, and as they should not.
#include "suimon/policy/quantity.h"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <string>

namespace suimon {
namespace {

using namespace std::chrono_literals;

struct RateCase {
  const char* text;
  std::uint64_t tokens;
  Duration period;
};

TEST(Rate, ReadsWhatPeopleWrite) {
  const RateCase cases[] = {
      {"5/s", 5, 1s},          {"300/min", 300, 1min},
      {"1000/h", 1000, 1h},    {"10M/day", 10'000'000, 24h},
      {"1 per 5s", 1, 5s},     {"5 per 10min", 5, 10min},
      {"5 per second", 5, 1s}, {"7 per 2 weeks", 7, 14 * 24h},
      {"2k/hour", 2000, 1h},   {"3G/d", 3'000'000'000, 24h},
      {"5/10s", 5, 10s},       {"  5 / s  ", 5, 1s},
      {"1/250ms", 1, 250ms},   {"1 per 3us", 1, 3us},
      {"16/ns", 16, 1ns},      {"5/sec", 5, 1s},
      {"5/seconds", 5, 1s},    {"5/minute", 5, 1min},
      {"5/week", 5, 7 * 24h},  {"1152921504606846976/s", std::uint64_t{1} << 60, 1s},
  };
  for (const RateCase& c : cases) {
    const auto rate = parse_rate(c.text);
    ASSERT_TRUE(rate) << c.text << ": " << rate.error().text;
    EXPECT_EQ(rate->tokens, c.tokens) << c.text;
    EXPECT_EQ(rate->period, c.period) << c.text;
  }
}

TEST(Duration, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse_duration("250ms"), Duration(250ms));
  EXPECT_EQ(parse_duration("5s"), Duration(5s));
  EXPECT_EQ(parse_duration("10min"), Duration(10min));
  EXPECT_EQ(parse_duration("1h"), Duration(1h));
  EXPECT_EQ(parse_duration("1d"), Duration(24h));
  EXPECT_EQ(parse_duration("2 weeks"), Duration(14 * 24h));
  EXPECT_EQ(parse_duration("9223372036854775807ns"), Duration::max());
}

TEST(Count, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse_count("0"), 0U);
  EXPECT_EQ(parse_count("10"), 10U);
  EXPECT_EQ(parse_count("500k"), 500'000U);
  EXPECT_EQ(parse_count("10M"), 10'000'000U);
  EXPECT_EQ(parse_count("2 G"), 2'000'000'000U);
  EXPECT_EQ(parse_count("1152921504606846976"), std::uint64_t{1} << 60);
}

struct BadCase {
  const char* text;
  const char* told;
};

template <class Parse>
void expect_refused(Parse parse, std::span<const BadCase> cases) {
  for (const BadCase& c : cases) {
    const auto result = parse(c.text);
    ASSERT_FALSE(result) << c.text;
    EXPECT_EQ(result.error().text, c.told) << c.text;
  }
}

TEST(Rate, RefusesEachMistakeWithItsCure) {
  const BadCase cases[] = {
      {"", "nothing is written here; write a rate such as 5/s, 300/min or 1 per 5s"},
      {"10", "`10` has no period; write `10/s`, `10/min` or another"},
      {"10k", "`10k` has no period; write `10k/s`, `10k/min` or another"},
      {"-5s", "`-5s` is negative; write a rate such as 5/s, 300/min or 1 per 5s"},
      {"5/-1s", "`5/-1s` is negative; write a time longer than 0, such as 5s"},
      {"0s", "`0s` is a time of zero, not a rate; write one such as 1 per 5s"},
      {"5s", "`5s` is a time, not a rate; write `1 per 5s`"},
      {"1.5/s", "`1.5/s`: a token has no parts; write `3 per 2s`"},
      {"0.1 per 3min", "`0.1 per 3min`: a token has no parts; write `1 per 30min`"},
      {"2.0/s", "`2.0/s`: a token has no parts; write `2/s`"},
      {"1.5k/s", "`1.5k/s`: a token has no parts; write `1500/s`"},
      {"0.0/s", "`0.0/s` has a point; write the whole number, `0`"},
      {"0.3333333333/s", "`0.3333333333/s`: a token has no parts; write `3 per 2s`"},
      {"5/1.5s", "`5/1.5s` has a point; write `1500ms`"},
      {"0/s", "`0/s` never refills; write at least one token per period, such as 1/d"},
      {"5/0s", "`5/0s`: a time of zero is no time; write one longer than 0, such as 1s"},
      {"5/m", "`5/m`: `m` could be minutes, months or milliseconds; write `min` for minutes"},
      {"5/month",
       "`5/month`: calendar months are not in this version; write `30d` for thirty days"},
      {"5/hrs", "`5/hrs`: `hrs` is no unit; write `h`"},
      {"5/MIN", "`5/MIN`: `MIN` is no unit; write `min`"},
      {"5/w", "`5/w`: `w` is no unit; write `week`"},
      {"5/year", "`5/year`: years are no unit here; write `365d`"},
      {"5K/s", "`5K/s`: `K` is no suffix; write `k` for thousands"},
      {"1_000/s", "`1_000/s`: write the digits without separators, or with k, M or G"},
      {"1e6/s", "`1e6/s`: write the number out, or with k, M or G, such as `1M`"},
      {"5/10", "`5/10` has no unit; write for example `10s` or `10min`"},
      {"/s", "`/s` does not say how many; write for example 5/s or 1 per 5s"},
      {"per 5s", "`per 5s` does not say how many; write for example 5/s or 1 per 5s"},
      {"5/", "`5/` has no period; write for example 5/s or 1 per 5s"},
      {"5 per", "`5 per` has no period; write for example 5/s or 1 per 5s"},
      {"5/s/s", "`5/s/s` has two periods; write a rate such as 5/s or 1 per 5s"},
      {"x/s", "`x/s` does not begin with a number; write one, such as 10"},
      {"fast", "`fast` is no rate; write one such as 5/s, 300/min or 1 per 5s"},
      {"18446744073709551616/s",
       "`18446744073709551616/s` is too large; the most is 1152921504606846976 (2^60)"},
      {"2000000000G/s", "`2000000000G/s` is too large; the most is 1152921504606846976 (2^60)"},
      {"1 per 9223372036854775808ns",
       "`1 per 9223372036854775808ns` is too long; the most is 292 years"},
  };
  expect_refused(parse_rate, cases);
}

TEST(Duration, RefusesEachMistakeWithItsCure) {
  const BadCase cases[] = {
      {"", "nothing is written here; write a time such as 250ms or 5s"},
      {"10", "`10` has no unit; write for example `10s` or `10min`"},
      {"-5s", "`-5s` is negative; write a time longer than 0, such as 5s"},
      {"0s", "`0s`: a time of zero is no time; write one longer than 0, such as 1s"},
      {"1.5h", "`1.5h` has a point; write `90min`"},
      {"0.5ns", "`0.5ns` has a point; write a whole number of a smaller unit"},
      {".5s", "`.5s`: a number begins with a digit; write for example 500ms"},
      {"1h30min", "`1h30min`: write one number and one unit, such as 90min"},
      {"s", "`s` does not begin with a number; write a time such as 250ms or 5s"},
      {"5 parsecs", "`5 parsecs`: `parsecs` is no unit; write ns, us, ms, s, min, h, d or week"},
      {"20000 weeks", "`20000 weeks` is too long; the most is 292 years"},
      {"99999999999999999999s", "`99999999999999999999s` is too long; the most is 292 years"},
  };
  expect_refused(parse_duration, cases);
}

TEST(Count, RefusesEachMistakeWithItsCure) {
  const BadCase cases[] = {
      {"", "nothing is written here; write a whole number such as 10"},
      {"ten", "`ten` does not begin with a number; write one, such as 10"},
      {"-1", "`-1` is negative; write a whole number such as 10"},
      {"1.5", "`1.5` is not whole; write a whole number such as 10"},
      {"1.5k", "`1.5k` has a point; write the whole number, `1500`"},
      {"1,000", "`1,000`: write the digits without separators, or with k, M or G"},
      {"10m", "`10m`: `m` is no suffix; write `M` for millions"},
      {"10x", "`10x`: `x` does not belong to a number; only k, M and G do"},
      {"1152921504606846977",
       "`1152921504606846977` is too large; the most is 1152921504606846976 (2^60)"},
  };
  expect_refused(parse_count, cases);
}

TEST(Duration, TextIsReadBackAsTheSame) {
  const std::uint64_t seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 10'000; ++i) {
    const Duration duration(static_cast<std::int64_t>(random() >> (1 + random() % 63)) | 1);
    const Duration scaled =
        i % 2 == 0 ? duration : Duration(1min) * static_cast<int>(1 + random() % 1'000'000);
    const std::string text = duration_text(scaled);
    ASSERT_EQ(parse_duration(text), scaled) << text << ", seed " << seed;
  }
  EXPECT_EQ(duration_text(90min), "90min");
  EXPECT_EQ(duration_text(1500ms), "1500ms");
  EXPECT_EQ(duration_text(14 * 24h), "14d");
}

TEST(Rate, IsWrittenAsItIsRead) {
  for (const char* text : {"5/s", "300/min", "10/d", "1 per 5s", "7 per 10min", "2/h", "3/ms"}) {
    EXPECT_EQ(rate_text(*parse_rate(text)), text);
  }
  EXPECT_EQ(rate_text(*parse_rate("5 per 60s")), "5/min");
  EXPECT_EQ(parse_rate(rate_text({5, 7 * 24h})), (Rate{5, 7 * 24h}));
}

// Every cure in backquotes after "write" is itself readable.
TEST(Rate, CuresAreRatesThemselves) {
  const std::uint64_t seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  std::mt19937_64 random(seed);
  const char* units[] = {"ms", "s", "min", "h", "d"};
  for (int i = 0; i < 10'000; ++i) {
    const std::string text = std::to_string(random() % 100) + "." +
                             std::to_string(1 + random() % 999) + "/" +
                             std::to_string(1 + random() % 20) + units[random() % 5];
    const auto refused = parse_rate(text);
    ASSERT_FALSE(refused) << text;
    const std::string& told = refused.error().text;
    const std::size_t begin = told.find("write `");
    ASSERT_NE(begin, std::string::npos) << told << ", seed " << seed;
    const std::string cure = told.substr(begin + 7, told.size() - begin - 8);
    const auto cured = parse_rate(cure);
    ASSERT_TRUE(cured) << text << " told to write " << cure << ", seed " << seed;
    const double tokens = std::stod(text);
    const auto period = parse_duration(text.substr(text.find('/') + 1));
    ASSERT_TRUE(period);
    EXPECT_NEAR(static_cast<double>(cured->tokens) * static_cast<double>(period->count()),
                tokens * static_cast<double>(cured->period.count()),
                1e-6 * tokens * static_cast<double>(cured->period.count()))
        << text << " told to write " << cure << ", seed " << seed;
  }
}

}  // namespace
}  // namespace suimon
