#include "suimon/reply/locales.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "suimon/policy/answers.h"
#include "suimon/reply/body.h"
#include "tests/reply/scene.h"

namespace suimon {
namespace {

std::string sentence(const Scene& scene, const Locale& locale) {
  std::string body;
  append_refusal_body(scene.facts, 429, locale, body);
  const auto begin = body.find("\"error\":\"") + 9;
  return body.substr(begin, body.find("\",\"", begin) - begin);
}

std::string limited(const Locale& locale, std::int64_t seconds) {
  Scene scene;
  scene.add("per-user", Outcome::limited).retry_after = std::chrono::seconds(seconds);
  return sentence(scene, locale);
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view tag(std::string_view accept_language, std::uint8_t otherwise = 0) {
  return choose_locale(accept_language, otherwise).tag;
}

class EveryLocale : public testing::TestWithParam<const Locale*> {};

INSTANTIATE_TEST_SUITE_P(List, EveryLocale, testing::ValuesIn(registered_locales()),
                         [](const auto& each) { return std::string(each.param->tag); });

TEST_P(EveryLocale, IsFoundByItsTag) {
  EXPECT_EQ(&choose_locale(GetParam()->tag), GetParam());
  EXPECT_EQ(&choose_locale(std::string(GetParam()->tag) + "-x-private"), GetParam());
}

TEST_P(EveryLocale, SaysTheSecondsForAnyNumberOfThem) {
  for (const std::int64_t seconds : {1, 2, 5, 11, 21, 100, 86'400, 1'000'000, 2'000'000}) {
    const std::string text = limited(*GetParam(), seconds);
    EXPECT_TRUE(holds(text, std::to_string(seconds))) << text;
    EXPECT_TRUE(holds(text, "per-user")) << text;
    EXPECT_FALSE(holds(text, "{") || holds(text, "}")) << text;
  }
}

TEST_P(EveryLocale, SaysTheFiguresOfWhatNeverPasses) {
  Scene scene;
  LimitFacts& limit = scene.add("uploads", Outcome::never);
  limit.cost = 57;
  limit.capacity = 13;
  const std::string text = sentence(scene, *GetParam());
  for (const char* part : {"uploads", "57", "13"}) EXPECT_TRUE(holds(text, part)) << text;
  EXPECT_FALSE(holds(text, "{") || holds(text, "}")) << text;
}

TEST_P(EveryLocale, NamesTheMissingAttribute) {
  Scene scene;
  scene.add("per-user", Outcome::never).missing = "api_key";
  const std::string text = sentence(scene, *GetParam());
  for (const char* part : {"per-user", "api_key"}) EXPECT_TRUE(holds(text, part)) << text;
  EXPECT_FALSE(holds(text, "{") || holds(text, "}")) << text;
}

TEST_P(EveryLocale, HasAPlainRefusalAndAnOverload) {
  std::string body;
  append_plain_refusal_body(429, *GetParam(), body);
  EXPECT_TRUE(holds(body, GetParam()->refused)) << body;
  EXPECT_TRUE(holds(GetParam()->refused, "1")) << "the seconds";
  body.clear();
  append_overloaded_body(*GetParam(), "why", body);
  EXPECT_TRUE(holds(body, GetParam()->overloaded)) << body;
  EXPECT_TRUE(holds(body, GetParam()->overloaded_title)) << body;
}

TEST_P(EveryLocale, SharesNoTextWithAnother) {
  for (const Locale* other : registered_locales()) {
    if (other == GetParam()) continue;
    EXPECT_NE(other->limited_title, GetParam()->limited_title);
    EXPECT_NE(other->limited_other, GetParam()->limited_other);
    EXPECT_NE(other->never, GetParam()->never);
    EXPECT_NE(other->missing, GetParam()->missing);
    EXPECT_NE(other->refused, GetParam()->refused);
    EXPECT_NE(other->overloaded, GetParam()->overloaded);
  }
}

TEST(Plurals, AreThoseOfTheLanguage) {
  const auto says = [](std::string_view language, std::int64_t seconds, std::string_view words) {
    const std::string text = limited(choose_locale(language), seconds);
    EXPECT_TRUE(holds(text, words)) << text;
  };
  says("en", 1, "wait 1 second,");
  says("en", 1'000'000, "wait 1000000 seconds,");
  says("de", 1, "1 Sekunde und");
  says("de", 2, "2 Sekunden und");
  says("fr", 1, "1 seconde,");
  says("fr", 2, "2 secondes,");
  says("fr", 1'000'000, "1000000 de secondes,");
  says("es", 1, "1 segundo y");
  says("es", 2, "2 segundos y");
  says("es", 3'000'000, "3000000 de segundos y");
  says("pt", 1, "1 segundo e");
  says("pt", 2, "2 segundos e");
  says("pt", 1'000'000, "1000000 de segundos e");
  for (const std::int64_t seconds : {1, 2, 1'000'000}) {
    says("ja", seconds, std::to_string(seconds) + "秒待って");
    says("zh", seconds, "等待 " + std::to_string(seconds) + " 秒后");
    says("ko", seconds, std::to_string(seconds) + "초 후에");
  }
  EXPECT_EQ(choose_locale("fr").plural(0), Plural::one);
  EXPECT_EQ(choose_locale("pt").plural(0), Plural::one);
  EXPECT_EQ(choose_locale("es").plural(0), Plural::other);
  EXPECT_EQ(choose_locale("en").plural(0), Plural::other);
}

TEST(Locales, StandInTheOrderThatPolicyFilesName) {
  for (std::uint8_t place = 0; place < kLanguageTags.size(); ++place) {
    EXPECT_EQ(tag("", place), kLanguageTags[place]);
  }
}

TEST(Locales, AnIncompleteOneIsFound) {
  Locale lacking = *registered_locales()[0];
  EXPECT_TRUE(lacking.complete());
  lacking.never = "";
  EXPECT_FALSE(lacking.complete());
  lacking.never = "wait {minutes}";
  EXPECT_FALSE(lacking.complete());
  lacking = *registered_locales()[0];
  lacking.plural = plurals::one_and_millions;  // then a form for millions is needed
  EXPECT_FALSE(lacking.complete());
  lacking.plural = plurals::none;  // then the form for one is never used
  EXPECT_FALSE(lacking.complete());
}

TEST(AcceptLanguage, ByQualityThenByPlace) {
  EXPECT_EQ(tag("ja"), "ja");
  EXPECT_EQ(tag("JA-jp"), "ja");
  EXPECT_EQ(tag("it, ja;q=0.8, en;q=0.5"), "ja");
  EXPECT_EQ(tag("en;q=0.5, ja;q=0.500"), "en");
  EXPECT_EQ(tag("en;q=0.2,ko;q=0.9,de;q=0.3"), "ko");
  EXPECT_EQ(tag("fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5"), "fr");
}

TEST(AcceptLanguage, WhoNamesNoneThatIsKnownGetsThePolicysLanguage) {
  for (const char* value : {"", "it", "tlh, sv;q=0.5", "*", "*;q=0.1", "xx;q=2, ja;q=x, ;;;,"}) {
    EXPECT_EQ(tag(value), "en") << value;
    EXPECT_EQ(tag(value, 2), "de") << value;
  }
  EXPECT_EQ(tag("*, ja;q=0.1", 2), "ja") << "a name says more than * (RFC 4647 section 3.4)";
  EXPECT_EQ(tag(std::string(100'000, ',') + "ja"), "en") << "only so much is looked at";
}

TEST(AcceptLanguage, VariantsFindTheirLanguage) {
  for (const char* value : {"zh", "zh-CN", "zh-Hans", "zh-SG", "zh-Hans-CN", "zh-cmn-Hans-CN"}) {
    EXPECT_EQ(tag(value), "zh") << value;
  }
  for (const char* value : {"pt-BR", "pt-PT", "pt-br"}) EXPECT_EQ(tag(value), "pt") << value;
  EXPECT_EQ(tag("de-AT"), "de");
  EXPECT_EQ(tag("es-419"), "es");
  EXPECT_EQ(tag("ko-KR"), "ko");
  EXPECT_EQ(tag("den"), "en") << "another language, not a variant of de";
}

TEST(AcceptLanguage, TraditionalChineseFindsSimplifiedWhereNothingElseIsAsGood) {
  for (const char* value : {"zh-TW", "zh-Hant", "zh-HK", "zh-MO", "zh-Hant-TW"}) {
    EXPECT_EQ(tag(value), "zh") << value;
    EXPECT_EQ(tag(std::string(value) + ", en"), "en") << value;
    EXPECT_EQ(tag(std::string(value) + ", it, en;q=0.9"), "zh") << value;
  }
  EXPECT_EQ(tag("zh-TW,zh;q=0.9,en-US;q=0.8,en;q=0.7"), "zh") << "what a browser sends";
  EXPECT_EQ(tag("zh-Hans-TW, en"), "zh") << "the script says more than the region";
  EXPECT_EQ(tag("ja, zh-TW"), "ja");
  EXPECT_EQ(tag("zh-TW, zh, ja"), "zh");
  EXPECT_EQ(tag("zh-CN, ja"), "zh");
}

TEST(AcceptLanguage, QualityZeroExcludes) {
  EXPECT_EQ(tag("ja;q=0"), "en");
  EXPECT_EQ(tag("ja;q=0, ja-JP, de;q=0.1"), "de");
  EXPECT_EQ(tag("de;q=0", 2), "en") << "not the policy's language, but the first that is left";
  EXPECT_EQ(tag("en;q=0.000"), "ja");
  EXPECT_EQ(tag("zh-TW;q=0, zh;q=0.3"), "zh") << "only what is written as zh-TW is excluded";
  EXPECT_EQ(tag("ko, *;q=0"), "ko");
  EXPECT_EQ(tag("it, *;q=0", 3), "fr") << "nothing is left: the policy's language all the same";
  EXPECT_EQ(tag("en;q=0, *", 0), "ja");
}

TEST(AcceptLanguage, AnythingIsRead) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  constexpr std::string_view kPieces[] = {"zh", "-", "TW", "Hant", ",",  ";", "q=", "0",  "1",
                                          ".",  "*", " ",  "en",   "ja", "x", "=",  "pt", "\xff"};
  for (int i = 0; i < 20'000; ++i) {
    std::string value;
    for (auto n = random() % 24; n > 0; --n) value += kPieces[random() % std::size(kPieces)];
    const std::uint8_t otherwise = random() % 8;
    const Locale& chosen = choose_locale(value, otherwise);
    const AcceptedLanguages accepted = read_accept_language(value);
    if (accepted.best) {
      EXPECT_EQ(registered_locales()[*accepted.best], &chosen) << value;
      EXPECT_EQ(accepted.excluded >> *accepted.best & 1U, 0U) << value;
    }
  }
}

}  // namespace
}  // namespace suimon
