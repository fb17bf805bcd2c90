#include "suimon/door/check_body.h"

#include <gtest/gtest.h>

namespace suimon::door {
namespace {

std::string mistake(std::string_view body) {
  CheckReader reader;
  const auto read = reader.read_one(body);
  return read ? "" : read.error().text;
}

TEST(CheckBody, ReadsDomainAttributesAndCost) {
  CheckReader reader;
  const auto read = reader.read_one(
      R"({"domain": "shop", "attributes": {"user": "u\u00e9", "path": "/x"}, "cost": 3})");
  ASSERT_TRUE(read);
  const Request request = reader.request(**read);
  EXPECT_EQ(request.domain, "shop");
  EXPECT_EQ(request.cost, 3U);
  ASSERT_EQ(request.attributes.size(), 2U);
  EXPECT_EQ(request.attributes[0].value, "u\xc3\xa9");
}

TEST(CheckBody, AWholeCostMayBeWrittenAsAFraction) {
  CheckReader reader;
  for (const auto& [cost, means] : {std::pair("2.0", 2ULL),
                                    {"1e3", 1000ULL},
                                    {"-0.0", 0ULL},
                                    {"18446744073709549568.0", 18446744073709549568ULL}}) {
    const auto read = reader.read_one("{\"cost\": " + std::string(cost) + "}");
    ASSERT_TRUE(read) << cost;
    EXPECT_EQ(reader.request(**read).cost, means);
  }
}

TEST(CheckBody, EverythingMayBeLeftOut) {
  CheckReader reader;
  const auto read = reader.read_one("{}");
  ASSERT_TRUE(read);
  EXPECT_EQ(reader.request(**read).cost, 1U);
  EXPECT_TRUE(reader.request(**read).attributes.empty());
}

TEST(CheckBody, MistakesAreNamed) {
  EXPECT_NE(mistake(R"({"atributes": {}})").find("unknown member \"atributes\""),
            std::string::npos);
  EXPECT_NE(mistake(R"({"cost": 1, "cost": 2})").find("twice"), std::string::npos);
  EXPECT_NE(mistake(R"({"attributes": {"a": "1", "a": "2"}})").find("twice"), std::string::npos);
  EXPECT_NE(mistake(R"({"attributes": {"a": 1}})").find("attributes.a must be a string"),
            std::string::npos);
  EXPECT_NE(mistake(R"({"attributes": []})").find("must be an object"), std::string::npos);
  for (const char* cost :
       {"-1", "1.5", "\"1\"", "null", "1e-3", "-1.0", "1e30", "18446744073709551616"}) {
    EXPECT_NE(mistake("{\"cost\": " + std::string(cost) + "}"), "") << cost;
  }
  EXPECT_NE(mistake(R"({"cost": 18446744073709551616})").find("more than 64 bits"),
            std::string::npos);
  for (const char* bad : {"", "[]", "3", "{", "{}{}", "{\"a\"", "\xff", "{\"cost\": 1,}"}) {
    EXPECT_NE(mistake(bad), "") << bad;
  }
  EXPECT_NE(mistake(std::string(100'000, '[')), "");
}

TEST(CheckBody, MoreThan64AttributesAreTooMany) {
  std::string body = "{\"attributes\": {";
  for (int i = 0; i < 65; ++i) {
    body += (i == 0 ? "" : ",") + ("\"a" + std::to_string(i)) + "\": \"\"";
  }
  EXPECT_NE(mistake(body + "}}").find("more than 64"), std::string::npos);
}

TEST(CheckBatch, AMistakeConcernsItsElementOnly) {
  CheckReader reader;
  const auto read = reader.read_batch(R"([{"cost": 1}, {"cots": 1}, {"attributes": {"a": "b"}}])");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 3U);
  EXPECT_EQ((*read)[0].mistake, "");
  EXPECT_NE((*read)[1].mistake, "");
  EXPECT_EQ(reader.request((*read)[2]).attributes[0].value, "b");
}

TEST(CheckBatch, HoldsAtMost1000) {
  const auto batch = [](int n) {
    std::string body = "[";
    for (int i = 0; i < n; ++i) body += i == 0 ? "{}" : ",{}";
    return body + "]";
  };
  CheckReader reader;
  EXPECT_TRUE(reader.read_batch(batch(1000)));
  EXPECT_FALSE(reader.read_batch(batch(1001)));
  EXPECT_TRUE(reader.read_batch("[]"));
  EXPECT_FALSE(reader.read_batch("{}"));
}

}  // namespace
}  // namespace suimon::door
