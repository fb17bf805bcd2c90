// The sections and words around the limits: answers, aliases, and what is for the whole program.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "suimon/policy/loader.h"

namespace suimon {
namespace {

using namespace std::chrono_literals;

std::string policy(const std::string& sections, const std::string& of_limit = "") {
  return "version: 1\ndomain: shop\n" + sections +
         "limits:\n  - {name: a, key: [user], preset: payment-gateway" + of_limit + "}\n";
}

Policy loaded(const std::string& text) {
  Loaded loaded = load_policy_text(text, "f");
  for (const Mistake& mistake : loaded.mistakes) ADD_FAILURE() << mistake.to_string();
  return std::move(loaded.policy);
}
Ruleset ruleset(const std::string& text) { return loaded(text).rulesets.at(0); }
LimitRule limit(const std::string& words) { return ruleset(policy("", words)).limits.at(0); }

std::string warning(const std::string& text) {
  const Loaded loaded = load_policy_text(text, "f");
  return loaded.warnings.empty() ? "" : loaded.warnings.front().to_string();
}

TEST(Answers, SilenceMeansTheNewestHeadersInEnglishAnd429) {
  const AnswerRule answers = ruleset(policy("")).answers;
  EXPECT_EQ(answers.headers, std::vector<std::uint8_t>{0});
  EXPECT_EQ(answers.language, 0);
  EXPECT_EQ(answers.deny_status, 429);
}

TEST(Answers, EveryWordOfResponses) {
  const AnswerRule answers =
      ruleset(policy("responses: {headers: [x-ratelimit, ietf], language: ja, deny_status: 503}\n"))
          .answers;
  EXPECT_EQ(answers.headers, (std::vector<std::uint8_t>{2, 0}));
  EXPECT_EQ(kLanguageTags[answers.language], "ja");
  EXPECT_EQ(answers.deny_status, 503);
  EXPECT_TRUE(ruleset(policy("responses: {headers: []}\n")).answers.headers.empty());
}

TEST(Answers, ALimitHasTitlesAStatusAndIsShownOrNot) {
  const LimitRule rule =
      limit(", title: {en: Payments, JA: お支払い}, deny: {status: 403}, advertise: false");
  ASSERT_EQ(rule.titles.size(), 2U);
  EXPECT_EQ(kLanguageTags[rule.titles[1].language], "ja");
  EXPECT_EQ(rule.titles[1].text, "お支払い");
  EXPECT_EQ(rule.deny_status, 403);
  EXPECT_FALSE(rule.advertise);
  EXPECT_FALSE(rule.shadow);
  EXPECT_EQ(limit(", title: Payments").titles.size(), kLanguageTags.size());
}

TEST(Answers, WhatIsLeftForEverybodyIsShownOnlyWhenThePolicySaysSo) {
  const auto shown = [](const std::string& words) {
    return ruleset("version: 1\ndomain: d\nlimits: [{name: a, key: [], preset: internal-service" +
                   words + "}]\n")
        .limits[0]
        .advertise;
  };
  EXPECT_FALSE(shown(""));
  EXPECT_TRUE(shown(", advertise: true"));
}

TEST(Answers, AShadowRefusesNobodySoItsStatusIsDoubted) {
  EXPECT_TRUE(limit(", shadow: true").shadow);
  EXPECT_EQ(warning(policy("", ", shadow: true, deny: {status: 503}")),
            "f:4:67: `deny` does nothing while shadow: true refuses nobody");
}

TEST(Answers, ARefusalWithStatus200IsDoubted) {
  EXPECT_EQ(warning(policy("responses: {deny_status: 200}\n")),
            "f:3:26: deny_status: 200 lets a proxy pass everything; it is for callers of /v1/check "
            "that read `allowed`");
}

TEST(Aliases, AnotherNameBringsTheAttribute) {
  const Ruleset rules = ruleset(policy("aliases: {remote_user: user, uid: user}\n"));
  ASSERT_EQ(rules.aliases.size(), 2U);
  EXPECT_EQ(rules.aliases[0].name, "remote_user");
  EXPECT_EQ(rules.attributes[rules.aliases[0].attribute], "user");
}

TEST(Settings, SilenceLeavesEverythingToFlagsAndDefaults) {
  const Settings settings = loaded(policy("")).settings;
  EXPECT_FALSE(settings.server.http || settings.server.admin || settings.server.threads);
  EXPECT_FALSE(settings.store.url || settings.store.when_full);
  EXPECT_FALSE(settings.log.events || settings.log.identify || settings.log.per_second);
}

TEST(Settings, EveryWordOfServerStoreAndLog) {
  const Settings settings = loaded(policy(R"(
server:
  http: 0.0.0.0:80
  admin: off
  threads: 4
  tls: {cert: a.pem, key: a.key, client_ca: ca.pem}
  timeouts: {header: 5s, idle: 1min, drain: 250ms}
  admin_token_file: admin.token
store:
  url: memory://?max_keys=10
  password_file: pw
  secret_file: secret
  previous_secret_file: secret.old
  when_full: refuse
log: {events: stderr, identify: truncated, per_second: 10}
)"))
                                .settings;
  EXPECT_EQ(settings.server.http, "0.0.0.0:80");
  EXPECT_EQ(settings.server.admin, "off");
  EXPECT_EQ(settings.server.threads, 4U);
  EXPECT_EQ(settings.server.tls.cert, "a.pem");
  EXPECT_EQ(settings.server.tls.key, "a.key");
  EXPECT_EQ(settings.server.tls.client_ca, "ca.pem");
  EXPECT_EQ(settings.server.timeouts.header, 5s);
  EXPECT_EQ(settings.server.timeouts.idle, 1min);
  EXPECT_EQ(settings.server.timeouts.drain, 250ms);
  EXPECT_EQ(settings.server.admin_token_file, "admin.token");
  EXPECT_EQ(settings.store.url, "memory://?max_keys=10");
  EXPECT_EQ(settings.store.password_file, "pw");
  EXPECT_EQ(settings.store.secret_file, "secret");
  EXPECT_EQ(settings.store.previous_secret_file, "secret.old");
  EXPECT_EQ(settings.store.when_full, WhenFull::refuse);
  EXPECT_EQ(settings.log.events, "stderr");
  EXPECT_EQ(settings.log.identify, Identify::truncated);
  EXPECT_EQ(settings.log.per_second, 10U);
}

TEST(Settings, OfSeveralFilesOneSpeaksForTheProgram) {
  namespace fs = std::filesystem;
  std::string name = (fs::temp_directory_path() / "suimon-settings-XXXXXX").string();
  const fs::path folder = ::mkdtemp(name.data());
  const auto write = [&](const char* file, const std::string& domain, const std::string& section) {
    std::ofstream(folder / file) << "version: 1\ndomain: " << domain << "\n"
                                 << section
                                 << "\nlimits: [{name: a, key: [], preset: internal-service}]\n";
  };
  write("a.yaml", "one", "server: {threads: 2}");
  write("b.yaml", "two", "store: {when_full: share}");
  Loaded both = load_policy(folder.string());
  EXPECT_TRUE(both.ok());
  EXPECT_EQ(both.policy.settings.server.threads, 2U);
  EXPECT_EQ(both.policy.settings.store.when_full, WhenFull::share);

  write("b.yaml", "two", "server: {threads: 4}");
  both = load_policy(folder.string());
  ASSERT_EQ(both.mistakes.size(), 1U);
  const std::string at = (folder / "a.yaml").string() + ":3:1";
  EXPECT_EQ(both.mistakes[0].to_string(), (folder / "b.yaml").string() +
                                              ":3:1: `server` is written in " + at +
                                              " already; it is for the whole program, so keep one");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace suimon
