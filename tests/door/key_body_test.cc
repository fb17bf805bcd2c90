#include "suimon/door/key_body.h"

#include <gtest/gtest.h>

#include "suimon/core/key_text.h"
#include "suimon/door/check_body.h"

namespace suimon::door {
namespace {

TEST(KeyBody, AKeyIsNamedByItsAttributes) {
  KeyReader reader;
  const auto key = reader.read(
      R"({"domain":"shop","limit":"per-user","attributes":{"user":"u1","plan":"free"}})");
  ASSERT_TRUE(key) << key.error().text;
  EXPECT_EQ(key->domain, "shop");
  EXPECT_EQ(key->limit, "per-user");
  ASSERT_EQ(key->attributes.size(), 2U);
  EXPECT_EQ(key->attributes[1].value, "free");
  EXPECT_FALSE(key->hash);
}

TEST(KeyBody, AKeyIsNamedByItsHash) {
  KeyReader reader;
  const auto key = reader.read(
      R"({"limit":"per-user","hash":"00112233445566778899AABBCCDDEEFF","tier":"free"})");
  ASSERT_TRUE(key) << key.error().text;
  EXPECT_EQ(key_text(*key->hash), "00112233445566778899aabbccddeeff");
  EXPECT_EQ(key->tier, "free");
  EXPECT_EQ(key->domain, "");
}

TEST(KeyBody, AMistakeIsNamedWithItsCure) {
  KeyReader reader;
  const auto mistake = [&](std::string_view body) {
    const auto key = reader.read(body);
    return key ? std::string("none") : key.error().text;
  };
  const auto says = [&](std::string_view body, std::string_view words) {
    EXPECT_NE(mistake(body).find(words), std::string::npos) << body << ": " << mistake(body);
  };
  says("", "not JSON");
  says("{", "not JSON");
  says("[]", "must be an object");
  says("{}", "limit is missing");
  says(R"({"limit":1})", "limit must be a string");
  says(R"({"limit":"a","limit":"b"})", "stands twice");
  says(R"({"limit":"a","key":"b"})", "unknown member \"key\"");
  says(R"({"limit":"a","hash":"xyz"})", "32 hexadecimal digits");
  says(R"({"limit":"a","hash":null})", "hash must be a string");
  says(R"({"limit":"a","attributes":["user"]})", "attributes must be an object");
  says(R"({"limit":"a","attributes":{"user":1}})", "attributes.user must be a string");
  says(R"({"limit":"a","attributes":{"user":"1","user":"2"}})", "twice");
  says(R"({"limit":"a","attributes":{},"hash":"00112233445566778899aabbccddeeff"})",
       "leave one of them out");
  says(R"({"limit":"a","attributes":{},"tier":"free"})", "tier goes with hash");
}

TEST(KeyBody, ARefundIsACheckWithAnId) {
  CheckReader reader;
  std::string_view id;
  const auto refund = reader.read_refund(R"({"id":"r-1","attributes":{"user":"u1"},"cost":3})", id);
  ASSERT_TRUE(refund) << refund.error().text;
  EXPECT_EQ(id, "r-1");
  EXPECT_EQ(reader.request(**refund).cost, 3U);
  const auto mistake = [&](std::string_view body) {
    const auto read = reader.read_refund(body, id);
    return read ? std::string("none") : read.error().text;
  };
  EXPECT_NE(mistake(R"({"attributes":{}})").find("id is missing"), std::string::npos);
  EXPECT_NE(mistake(R"({"id":""})").find("id must be"), std::string::npos);
  EXPECT_NE(mistake(R"({"id":7})").find("id must be"), std::string::npos);
  EXPECT_NE(mistake("{\"id\":\"" + std::string(257, 'x') + "\"}").find("256"), std::string::npos);
  EXPECT_NE(mistake(R"({"id":"a","name":"b"})").find("a refund has id"), std::string::npos);
  EXPECT_FALSE(reader.read_one(R"({"id":"a"})")) << "a check has none";
}

}  // namespace
}  // namespace suimon::door
