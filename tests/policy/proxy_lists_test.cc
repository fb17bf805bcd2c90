// Lists of proxies by name: those that ship, the user's own, and mistakes in them.
#include "suimon/policy/proxy_lists.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "suimon/policy/loader.h"

namespace suimon {
namespace {

namespace fs = std::filesystem;

class ProxyLists : public testing::Test {
 protected:
  ProxyLists() {
    std::string name = (fs::temp_directory_path() / "suimon-lists-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~ProxyLists() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  Loaded load(const std::string& proxies) {
    return load_policy(
        write("limits.yaml", "version: 1\ndomain: shop\nclient_ip: {trusted_proxies: [" + proxies +
                                 "]}\nlimits: [{name: a, key: [client_ip], preset: "
                                 "payment-gateway}]\n"));
  }
  // Whether the policy that was loaded believes `peer`.
  static bool believes(const Loaded& loaded, std::string_view peer) {
    return loaded.policy.rulesets.at(0).client_ip.trusts(parse_address(peer));
  }
  std::string mistake(const std::string& proxies) {
    const Loaded loaded = load(proxies);
    if (loaded.mistakes.empty()) return "none";
    std::string text = loaded.mistakes.front().to_string();
    const std::string here = folder_.string() + "/";
    for (std::size_t at = 0; (at = text.find(here)) != std::string::npos;)
      text.erase(at, here.size());
    return text;
  }

  fs::path folder_;
};

TEST_F(ProxyLists, EveryListThatShipsIsGoodAndSaysWhereItIsFrom) {
  std::vector<std::string> names;
  for (const ProxyList& list : shipped_proxy_lists()) {
    names.emplace_back(list.name);
    std::vector<ListMistake> mistakes;
    EXPECT_GT(read_proxy_list(list.text, mistakes).size(), 3U) << list.name;
    EXPECT_TRUE(mistakes.empty()) << list.name << ":" << mistakes.front().line;
    EXPECT_TRUE(list.text.starts_with("# ")) << list.name;
    EXPECT_NE(list.text.find("# Source"), std::string::npos) << list.name;
    EXPECT_TRUE(load("\"@" + std::string(list.name) + "\"").ok()) << list.name;
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"cloudflare", "fastly", "google-load-balancer", "private"}));
}

TEST_F(ProxyLists, AListThatShipsIsBelievedBesideRanges) {
  const Loaded loaded = load("192.0.2.0/24, \"@cloudflare\", \"@private\"");
  ASSERT_TRUE(loaded.ok());
  for (const char* peer : {"192.0.2.9", "173.245.48.1", "2606:4700::1", "10.1.2.3", "192.168.9.9",
                           "fd00::1", "127.0.0.1"}) {
    EXPECT_TRUE(believes(loaded, peer)) << peer;
  }
  for (const char* peer : {"192.0.3.9", "173.245.64.1", "8.8.8.8", "172.32.0.1", "fe80::1"}) {
    EXPECT_FALSE(believes(loaded, peer)) << peer;
  }
}

TEST_F(ProxyLists, TheUsersOwnListIsAFileAnywhereOrBesideThePolicy) {
  const std::string path = write("anywhere", "# ours\n 192.0.2.0/24 # office\r\n\n2001:db8::7\n");
  write("edge.txt", "198.51.100.0/24");
  const Loaded loaded = load("\"@" + path + "\", \"@edge\"");
  ASSERT_TRUE(loaded.ok()) << loaded.mistakes.front().to_string();
  EXPECT_TRUE(believes(loaded, "192.0.2.1"));
  EXPECT_TRUE(believes(loaded, "2001:db8::7"));
  EXPECT_TRUE(believes(loaded, "198.51.100.255"));
  EXPECT_FALSE(believes(loaded, "2001:db8::8"));
}

TEST_F(ProxyLists, AFileBesideThePolicyGoesBeforeTheListThatShips) {
  write("cloudflare.txt", "192.0.2.0/24");
  const Loaded loaded = load("\"@cloudflare\"");
  EXPECT_TRUE(believes(loaded, "192.0.2.1"));
  EXPECT_FALSE(believes(loaded, "173.245.48.1"));
}

TEST_F(ProxyLists, WhatIsLoadedAgainIsReadAgain) {
  write("edge.txt", "192.0.2.0/24");
  EXPECT_TRUE(believes(load("\"@edge\""), "192.0.2.1"));
  write("edge.txt", "198.51.100.0/24");
  EXPECT_FALSE(believes(load("\"@edge\""), "192.0.2.1"));
}

TEST_F(ProxyLists, MistakesNameTheFileAndTheLine) {
  write("edge.txt", "192.0.2.0/24\n\nexample.com\n10.0.0.1/8\n");
  EXPECT_EQ(mistake("\"@edge\""),
            "limits.yaml:3:31: trusted_proxies: edge.txt:3: \"example.com\" is no address range; "
            "write 10.0.0.0/8, 2001:db8::/32 or one address");
  EXPECT_EQ(load("\"@edge\"").mistakes.size(), 2U);
  write("empty.txt", "# nothing\n");
  EXPECT_EQ(
      mistake("\"@empty\""),
      "limits.yaml:3:31: trusted_proxies: empty.txt names no range; write one a line, such as "
      "10.0.0.0/8");
  EXPECT_EQ(
      mistake("\"@/no/such\""),
      "limits.yaml:3:31: trusted_proxies: /no/such cannot be read: No such file or directory");
  EXPECT_EQ(
      mistake("\"@../edge\""),
      "limits.yaml:3:31: trusted_proxies: `@../edge` is no name of a list; write @ and a-z, 0-9, - "
      "or _, or @/path/file");
}

TEST_F(ProxyLists, TooManyRangesAreRefused) {
  std::string many;
  for (int i = 0; i < 1024; ++i)
    many += "10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256) + "\n";
  write("many.txt", many);
  EXPECT_EQ(mistake("\"@many\""), "none");
  EXPECT_EQ(mistake("\"@many\", 192.0.2.1"),
            "limits.yaml:3:40: trusted_proxies: more than 1,024 ranges; join neighbours");
}

TEST_F(ProxyLists, ARangeOfEverybodyIsWarnedOf) {
  write("all.txt", "0.0.0.0/0");
  for (const char* proxies : {"\"@all\"", "0.0.0.0/0", "\"::/0\""}) {
    const Loaded loaded = load(proxies);
    ASSERT_EQ(loaded.warnings.size(), 1U) << proxies;
    EXPECT_NE(loaded.warnings[0].text.find("trusts everybody"), std::string::npos);
  }
}

TEST_F(ProxyLists, APolicyThatIsNoFileReadsNoFiles) {
  const Loaded loaded = load_policy_text(
      "version: 1\ndomain: shop\nclient_ip: {trusted_proxies: [\"@/etc/hostname\"]}\n"
      "limits: [{name: a, key: [client_ip], preset: payment-gateway}]\n",
      "f");
  ASSERT_EQ(loaded.mistakes.size(), 1U);
  EXPECT_NE(loaded.mistakes[0].text.find("is not read here"), std::string::npos);
}

}  // namespace
}  // namespace suimon
