// From limits.yaml to a Policy: what each word becomes, and how mistakes are told.
#include "suimon/policy/loader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "suimon/policy/vocabulary.h"

namespace suimon {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

const fs::path kSource = SUIMON_SOURCE_DIR;

std::string all(const std::vector<Mistake>& mistakes) {
  std::string out;
  for (const Mistake& mistake : mistakes) out += mistake.to_string() + "\n";
  return out;
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> yaml_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto extension = entry.path().extension();
    if (extension == ".yaml" || extension == ".yml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A policy with one limit, whose lines are given from its key on.
std::string with_limit(const std::string& rest) {
  return "version: 1\ndomain: shop\nlimits:\n  - name: a\n" + rest;
}

std::string with_client_ip(const std::string& client_ip) {
  return "version: 1\ndomain: shop\nclient_ip: " + client_ip +
         "\nlimits: [{name: a, key: [client_ip], preset: payment-gateway}]\n";
}

Ruleset ruleset(const std::string& text) {
  const Loaded loaded = load_policy_text(text, "f");
  EXPECT_TRUE(loaded.ok()) << all(loaded.mistakes);
  EXPECT_EQ(loaded.policy.rulesets.size(), 1U);
  return loaded.policy.rulesets.empty() ? Ruleset{} : loaded.policy.rulesets.front();
}

std::string first_mistake(const std::string& text) {
  const Loaded loaded = load_policy_text(text, "f");
  return loaded.ok() ? "no mistake" : loaded.mistakes.front().to_string();
}

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "suimon-policy-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

std::string small_policy(const std::string& domain) {
  return "version: 1\ndomain: " + domain +
         "\nlimits: [{name: a, key: [client_ip], preset: payment-gateway}]\n";
}

TEST(Loader, EveryWordBecomesItsPartOfTheRuleset) {
  const Ruleset rules = ruleset(R"(
version: 1
domain: shop
client_ip: {from: X-Forwarded-For, trusted_proxies: [10.0.0.0/8, "2001:db8::/32"], ipv6_prefix: 56}
attributes: {user: {header: X-User-Id}, plan: {header: x-plan}}
tiers: {free: {capacity: 10, refill: 2/s}, basic: {capacity: 2k, refill: 5 per 10min}}
limits:
  - name: per-user
    key: [user, method]
    on_missing: {value: anonymous}
    match: {path: [/v1/**, /v2/*], method: GET, status: 404, beta: true}
    token_bucket: {tier: {from: plan, default: basic}}
    cost: [{match: {method: [POST, PUT]}, value: 5}, {value: 0}]
  - name: whole
    key: []
    on_missing: deny
    preset: photo-upload
    cost: 3
)");
  EXPECT_EQ(rules.domain, "shop");
  EXPECT_EQ(rules.client_ip.from, ClientIpRule::From::forwarded_for);
  EXPECT_EQ(rules.client_ip.header, "x-forwarded-for");
  EXPECT_EQ(rules.client_ip.trusted_proxies.size(), 2U);
  EXPECT_TRUE(rules.client_ip.trust_local);
  EXPECT_EQ(rules.client_ip.ipv6_prefix, 56U);

  ASSERT_EQ(rules.sources.size(), 2U);
  EXPECT_EQ(rules.attributes[rules.sources[0].attribute], "user");
  EXPECT_EQ(rules.sources[0].header, "x-user-id");
  EXPECT_EQ(rules.sources[1].header, "x-plan");

  ASSERT_EQ(rules.limits.size(), 2U);
  const LimitRule& user = rules.limits[0];
  EXPECT_EQ(user.name, "per-user");
  ASSERT_EQ(user.key.size(), 2U);
  EXPECT_EQ(user.key[0], rules.find_attribute("user"));
  EXPECT_EQ(user.key[1], rules.find_attribute("method"));
  EXPECT_EQ(user.on_missing, OnMissing::substitute);
  EXPECT_EQ(user.substitute, "anonymous");
  EXPECT_EQ(user.tier_from, rules.find_attribute("plan"));
  EXPECT_TRUE(user.advertise);
  ASSERT_EQ(user.match.size(), 4U);
  EXPECT_EQ(user.match[0].paths.size(), 2U);
  EXPECT_TRUE(user.match[0].globs.empty());
  EXPECT_EQ(user.match[1].globs, std::vector<std::string>{"GET"});
  EXPECT_EQ(user.match[2].globs, std::vector<std::string>{"404"});
  EXPECT_EQ(user.match[3].globs, std::vector<std::string>{"true"});
  ASSERT_EQ(user.buckets.size(), 2U);
  EXPECT_EQ(user.buckets[0].tier, "basic");  // the default stands first
  EXPECT_EQ(user.buckets[0].parameters, (Limit{2000, {5, 10min}}));
  EXPECT_EQ(user.buckets[1].tier, "free");
  EXPECT_EQ(user.buckets[1].parameters, (Limit{10, per_second(2)}));
  ASSERT_EQ(user.cost.size(), 2U);
  EXPECT_EQ(user.cost[0].value, 5U);
  EXPECT_EQ(user.cost[0].match[0].globs, (std::vector<std::string>{"POST", "PUT"}));
  EXPECT_EQ(user.cost[1].value, 0U);

  const LimitRule& whole = rules.limits[1];
  EXPECT_TRUE(whole.key.empty());
  EXPECT_FALSE(whole.advertise);
  EXPECT_EQ(whole.on_missing, OnMissing::deny);
  ASSERT_EQ(whole.buckets.size(), 1U);
  EXPECT_EQ(whole.buckets[0].tier, "");
  EXPECT_EQ(whole.cost[0].value, 3U);
}

TEST(Loader, PresetsAreWhatTheirNamesPromise) {
  EXPECT_EQ(find_preset("public-social-api"), (Limit{15, per_second(3)}));
  EXPECT_EQ(find_preset("internal-service"), (Limit{75, per_second(15)}));
  EXPECT_EQ(find_preset("payment-gateway"), (Limit{7, per_second(1)}));
  EXPECT_EQ(find_preset("photo-upload"), (Limit{100, {1, 30s}}));
  for (const std::string_view name : preset_names()) {
    EXPECT_TRUE(validate(*find_preset(name))) << name;
    const Ruleset rules =
        ruleset(with_limit("    key: [client_ip]\n    preset: " + std::string(name) + "\n"));
    EXPECT_EQ(rules.limits[0].buckets[0].parameters, find_preset(name));
  }
}

TEST(Loader, EveryWorkingSourceOfTheClientAddress) {
  for (const char* name : {"x-real-ip", "cf-connecting-ip", "true-client-ip", "fastly-client-ip"}) {
    const Ruleset rules = ruleset(with_client_ip("{from: " + std::string(name) + "}"));
    EXPECT_EQ(rules.client_ip.from, ClientIpRule::From::header) << name;
    EXPECT_EQ(rules.client_ip.header, name);
  }
  EXPECT_EQ(ruleset(with_client_ip("{from: peer}")).client_ip.from, ClientIpRule::From::peer);
  EXPECT_EQ(ruleset(with_client_ip("{trusted_hops: 2}")).client_ip.trusted_hops, 2U);
}

TEST(Loader, AbsentProxiesTrustThisMachineAndAnEmptyListNobody) {
  const Ruleset absent = ruleset(with_client_ip("{from: x-forwarded-for}"));
  EXPECT_TRUE(absent.client_ip.trust_local);
  EXPECT_TRUE(absent.client_ip.trusted_proxies.empty());
  const Ruleset named = ruleset(with_client_ip("{trusted_proxies: [10.0.0.0/8]}"));
  EXPECT_TRUE(named.client_ip.trust_local);
  EXPECT_EQ(named.client_ip.trusted_proxies.size(), 1U);
  const Ruleset empty = ruleset(with_client_ip("{trusted_proxies: []}"));
  EXPECT_FALSE(empty.client_ip.trust_local);
  EXPECT_TRUE(empty.client_ip.trusted_proxies.empty());
}

TEST(Loader, OrderOfSectionsDoesNotMatter) {
  const Ruleset rules = ruleset(
      "limits: [{name: a, key: [u], token_bucket: {tier: {from: p, default: free}}}]\n"
      "tiers: {free: {capacity: 1, refill: 1/s}}\ndomain: shop\nversion: 1\n");
  EXPECT_EQ(rules.limits[0].buckets[0].tier, "free");
}

TEST(Loader, AllMistakesOfAFileAreToldInTheOrderOfPlaces) {
  const Loaded loaded = load_policy_text(
      "version: 2\ndomain: my shop\ntiers: {free: {capacity: 0, refill: 10}}\nlimits:\n"
      "  - {name: A, key: [client_ip], token_bucket: {burst: 1, rate: 1/s}}\n"
      "  - {name: b, preset: x}\n",
      "f");
  EXPECT_EQ(all(loaded.mistakes),
            "f:1:10: version: `2` is unknown; write version: 1\n"
            "f:2:9: domain: `my shop` may have only letters, digits, `.`, `_` and `-`; write "
            "`my-shop`\n"
            "f:3:26: capacity: a capacity of 0 would never let anything through; write at least 1\n"
            "f:3:37: refill: `10` has no period; write `10/s`, `10/min` or another\n"
            "f:5:12: name: `A` may have only a-z, 0-9, `.`, `_` and `-`; write `a`\n"
            "f:5:48: unknown key `burst`; did you mean `capacity`?\n"
            "f:5:58: unknown key `rate`; did you mean `refill`?\n"
            "f:6:5: this limit has no key; write for example key: [client_ip] (key: [] means one "
            "bucket for everybody)\n"
            "f:6:23: preset: there is no `x`; known are public-social-api, internal-service, "
            "payment-gateway, photo-upload\n");
}

TEST(Loader, AtMostAHundredMistakesAreTold) {
  std::string text = "version: 1\ndomain: shop\nlimits:\n";
  for (int i = 0; i < 200; ++i) text += "  - {}\n";
  const Loaded loaded = load_policy_text(text, "f");
  EXPECT_EQ(loaded.mistakes.size(), 100U);
  EXPECT_EQ(loaded.mistakes.back().text, "there are more; mend these first");
}

TEST(Loader, BoundsAreReachedAndNotExceeded) {
  const auto limits = [](int count) {
    std::string text = "version: 1\ndomain: shop\nlimits:\n";
    for (int i = 0; i < count; ++i) {
      text += "  - {name: l" + std::to_string(i) +
              ", match: {path: /a}, key: [client_ip], preset: payment-gateway}\n";
    }
    return text;
  };
  EXPECT_EQ(first_mistake(limits(1'000)), "no mistake");
  EXPECT_EQ(first_mistake(limits(1'001)),
            "f:4:3: limits: more than 1,000; divide the file, by domain");

  std::string tiers = "version: 1\ndomain: shop\ntiers:\n";
  for (int i = 0; i < 64; ++i)
    tiers += "  t" + std::to_string(i) + ": {capacity: 1, refill: 1/s}\n";
  tiers += "limits:\n";
  const auto tiered = [&](int count) {
    std::string text = tiers;
    for (int i = 0; i < count; ++i) {
      text += "  - {name: l" + std::to_string(i) +
              ", match: {path: /a}, key: [u], token_bucket: {tier: {from: p, default: t1}}}\n";
    }
    return text;
  };
  EXPECT_EQ(first_mistake(tiered(256)), "no mistake");
  EXPECT_EQ(first_mistake(tiered(257)),
            "f:69:3: limits: with their tiers these are 16448 buckets, and the most is 16,384; "
            "use fewer tiers");
}

TEST(Loader, WarningsDoNotStopAPolicy) {
  const auto warning = [](const std::string& text) {
    const Loaded loaded = load_policy_text(text, "f");
    EXPECT_TRUE(loaded.ok()) << all(loaded.mistakes);
    return all(loaded.warnings);
  };
  EXPECT_EQ(warning("version: 1\ndomain: shop\n"
                    "tiers: {free: {capacity: 10, refill: 1/s}, big: {capacity: 99, refill: 1/s}}\n"
                    "limits:\n  - name: a\n    key: [user]\n"
                    "    token_bucket: {tier: {from: plan, default: free}}\n    cost: 11\n"),
            "f:8:11: a cost of 11 is above the capacity 10 of tier `free`, where it will always be "
            "refused\n");
  EXPECT_EQ(warning(with_client_ip("{trusted_proxies: [0.0.0.0/0]}")),
            "f:3:31: trusted_proxies: `0.0.0.0/0` trusts everybody, so that everybody can claim "
            "any address; write the ranges of your own proxies\n");
  EXPECT_EQ(warning(with_client_ip("{from: peer, trusted_proxies: [10.0.0.0/8]}")),
            "f:3:25: `trusted_proxies` does nothing with from: peer; leave it out\n");
  EXPECT_EQ(warning(with_limit("    key: [client_ip]\n    preset: payment-gateway\n"
                               "    match: {method: post}\n")),
            "f:7:21: method: `post` matches only a method in small letters; write GET, POST and "
            "the others in capitals\n");
  EXPECT_EQ(warning(with_limit("    key: [clientip]\n    preset: payment-gateway\n")),
            "f:5:11: `clientip` is not under attributes:, so only a caller who names it brings "
            "it; did you mean `client_ip`?\n");
  EXPECT_EQ(
      warning("version: 1\ndomain: shop\nattributes: {user: {header: X-User-Id}}\nlimits:\n"
              "  - {name: a, key: [account], preset: payment-gateway}\n"),
      "f:5:21: `account` is not under attributes:, so only a caller who names it brings it\n");
  std::string many = "version: 1\ndomain: shop\nlimits:\n";
  for (int i = 0; i < 16; ++i) {
    many += "  - {name: l" + std::to_string(i) + ", key: [], preset: payment-gateway}\n";
  }
  EXPECT_EQ(warning(many), "");
  many += "  - {name: l16, key: [], preset: payment-gateway}\n";
  EXPECT_EQ(warning(many),
            "f:4:3: limits: 17 of them have no match, and a request that brings the keys of more "
            "than 16 is refused as an error; give them a match\n");
}

TEST(Loader, FileThatCannotBeReadIsAMistakeWithoutAPlace) {
  const Folder folder;
  const std::string path = folder.path() + "/limits.yaml";
  EXPECT_EQ(all(load_policy(path).mistakes),
            path + ": cannot be read: No such file or directory\n");
  EXPECT_EQ(all(load_policy(folder.path()).mistakes),
            folder.path() + ": holds no *.yaml or *.yml file\n");
  const std::string loop = folder.path() + "/loop.yaml";
  fs::create_symlink(loop, loop);
  EXPECT_EQ(all(load_policy(folder.path()).mistakes),
            loop + ": cannot be read: Too many levels of symbolic links\n");
}

TEST(Loader, PipeThatNobodyWritesToHoldsNobodyUp) {
  const Folder folder;
  const std::string path = folder.path() + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(all(load_policy(path).mistakes),
            path + ":1:1: the file is empty; a policy begins with version: 1\n");
}

TEST(Loader, FolderIsLoadedInTheOrderOfNames) {
  const Folder folder;
  folder.write("b.yml", small_policy("two"));
  folder.write("a.yaml", small_policy("one"));
  folder.write("c.txt", "not a policy");
  folder.write(".hidden.yaml", "not a policy");
  fs::create_directory(folder.path() + "/d.yaml");
  const Loaded loaded = load_policy(folder.path());
  ASSERT_TRUE(loaded.ok()) << all(loaded.mistakes);
  ASSERT_EQ(loaded.policy.rulesets.size(), 2U);
  EXPECT_EQ(loaded.policy.rulesets[0].domain, "one");
  EXPECT_EQ(loaded.policy.rulesets[1].domain, "two");
}

TEST(Loader, TwoFilesWithOneDomainAreAMistakeAtTheSecond) {
  const Folder folder;
  const std::string a = folder.write("a.yaml", small_policy("shop"));
  const std::string b = folder.write("b.yaml", small_policy("shop"));
  EXPECT_EQ(
      all(load_policy(folder.path()).mistakes),
      b + ":2:9: domain: `shop` is loaded from " + a + ":2:9 already; one domain is one file\n");
}

TEST(Loader, MistakesOfEveryFileOfAFolderAreTold) {
  const Folder folder;
  const std::string a = folder.write("a.yaml", "");
  const std::string b = folder.write("b.yaml", "domain: [\n");
  const Loaded loaded = load_policy(folder.path());
  ASSERT_EQ(loaded.mistakes.size(), 2U);
  EXPECT_EQ(loaded.mistakes[0].file, a);
  EXPECT_EQ(loaded.mistakes[1].file, b);
}

TEST(Loader, ExamplesLoadWithoutAWord) {
  const auto files = yaml_files(kSource / "examples");
  ASSERT_FALSE(files.empty());
  for (const fs::path& file : files) {
    const Loaded loaded = load_policy(file.string());
    EXPECT_TRUE(loaded.ok()) << all(loaded.mistakes);
    EXPECT_TRUE(loaded.warnings.empty()) << all(loaded.warnings);
  }
}

TEST(Loader, AnonymousRequestOfTheExampleMeetsOnlyThePerAddressLimit) {
  const Loaded loaded = load_policy((kSource / "examples/limits.yaml").string());
  ASSERT_TRUE(loaded.ok()) << all(loaded.mistakes);
  const Ruleset* shop = loaded.policy.find("shop");
  ASSERT_NE(shop, nullptr);
  const auto names = [&](std::vector<Attribute> attributes) {
    Matched matched;
    MatchScratch scratch;
    shop->match({.domain = "shop", .attributes = attributes}, matched, scratch);
    std::string out;
    for (std::size_t i = 0; i < matched.enforced.size; ++i) {
      out += matched.enforced.applied[i].rule->name + " ";
    }
    return out;
  };
  EXPECT_EQ(names({{"client_ip", "203.0.113.9"}, {"method", "GET"}, {"path", "/v1/payments/7"}}),
            "per-address ");
  EXPECT_EQ(names({{"client_ip", "203.0.113.9"}, {"user", "u1"}}), "per-address per-user ");
  EXPECT_EQ(names({{"client_ip", "203.0.113.9"}, {"api_key", "k"}, {"path", "/v1/payments"}}),
            "per-address payments ");
  const LimitRule& limit = shop->limits.front();
  EXPECT_EQ(limit.name, "per-address");
  EXPECT_EQ(limit.buckets.front().parameters, (Limit{10, {1, 10s}}));
}

// Each file in bad/ begins with "# expect: LINE:COLUMN: TEXT", the one mistake that it has.
TEST(Loader, EveryBadFileIsRefusedAtItsPlaceWithItsText) {
  constexpr std::size_t kFilesToday = 200;
  const std::string_view kExpect = "# expect: ";
  const auto files = yaml_files(kSource / "tests/policy/bad");
  EXPECT_GE(files.size(), kFilesToday);
  for (const fs::path& file : files) {
    const std::string text = contents(file);
    ASSERT_EQ(text.substr(0, kExpect.size()), kExpect) << file;
    const std::string expected = text.substr(kExpect.size(), text.find('\n') - kExpect.size());
    const Loaded loaded = load_policy(file.string());
    EXPECT_EQ(loaded.mistakes.size(), 1U) << all(loaded.mistakes);
    if (loaded.ok()) continue;
    const std::string told = loaded.mistakes.front().to_string();
    EXPECT_EQ(told.rfind(file.string() + ":" + expected, 0), 0U)
        << told << "\nexpected " << expected;
  }
}

TEST(Loader, C33a_RuleWithoutPeriodIsRefusedWithFileAndLine) {
  const auto refill = [](const std::string& value) {
    return first_mistake(with_limit(
        "    key: [client_ip]\n    token_bucket: {capacity: 10, refill: " + value + "}\n"));
  };
  EXPECT_EQ(refill("10"), "f:6:42: refill: `10` has no period; write `10/s`, `10/min` or another");
  EXPECT_EQ(refill("0s"),
            "f:6:42: refill: `0s` is a time of zero, not a rate; write one such as 1 per 5s");
  EXPECT_EQ(refill("-5s"),
            "f:6:42: refill: `-5s` is negative; write a rate such as 5/s, 300/min or 1 per 5s");
  EXPECT_EQ(refill("5/0s"),
            "f:6:42: refill: `5/0s`: a time of zero is no time; write one longer than 0, such as "
            "1s");
}

TEST(Loader, C33a_UnknownFieldIsRefusedWithFileAndLine) {
  EXPECT_EQ(first_mistake(with_limit("    key: [client_ip]\n    preset: payment-gateway\n"
                                     "    colour: red\n")),
            "f:7:5: unknown key `colour`; a limit has name, title, match, key, on_missing, "
            "on_store_error, "
            "token_bucket, preset, cost, advertise, deny, shadow");
}

TEST(Loader, C33a_BadFilesOfAPeerAreRefusedWithFileNameAndReason) {
  const char* shared = std::getenv("SUIMON_SHARED");
  const fs::path folder = (shared != nullptr ? fs::path(shared) : kSource / "../shared") /
                          "data/configs/envoyproxy_ratelimit_bad";
  if (!fs::is_directory(folder)) GTEST_SKIP() << folder << " is not here";
  const auto files = yaml_files(folder);
  EXPECT_GE(files.size(), 7U);
  for (const fs::path& file : files) {
    const Loaded loaded = load_policy(file.string());
    ASSERT_FALSE(loaded.ok()) << file;
    EXPECT_EQ(loaded.mistakes[0].file, file.string());
    EXPECT_GT(loaded.mistakes[0].line, 0);
    EXPECT_NE(loaded.mistakes[0].text.find("`descriptors` is not in this version"),
              std::string::npos)
        << all(loaded.mistakes);
  }
}

}  // namespace
}  // namespace suimon
