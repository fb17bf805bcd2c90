// The two messages of Envoy's rate limit service, against Protocol Buffers' own code.
#include <envoy/service/ratelimit/v3/rls.pb.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "suimon/door/grpc/call.h"
#include "suimon/door/grpc/rls_request.h"
#include "suimon/door/grpc/rls_response.h"
#include "suimon/engine/engine.h"
#include "suimon/observe/counters.h"
#include "suimon/policy/loader.h"
#include "suimon/store/reference.h"

namespace suimon::door {
namespace {

namespace pb = envoy::service::ratelimit::v3;
using namespace std::chrono_literals;
using Unit = RatePerUnit::Unit;

void add_entry(pb::RateLimitDescriptor& to, const std::string& key, const std::string& value) {
  auto& entry = *to.add_entries();
  entry.set_key(key);
  entry.set_value(value);
}

pb::RateLimitRequest one(const std::string& key, const std::string& value) {
  pb::RateLimitRequest request;
  request.set_domain("shop");
  add_entry(*request.add_descriptors(), key, value);
  return request;
}

std::string mistake_of(const std::string& message) {
  RlsRequest request;
  const auto read = request.read(message);
  return read ? "" : read.error().text;
}

TEST(RlsRequestTest, EachDescriptorIsASetOfAttributes) {
  pb::RateLimitRequest message = one("remote_address", "192.0.2.1");
  add_entry(message.mutable_descriptors()->at(0), "path", "/v1");
  add_entry(*message.add_descriptors(), "user", "");
  const std::string bytes = message.SerializeAsString();
  RlsRequest request;
  ASSERT_TRUE(request.read(bytes));
  EXPECT_EQ(request.domain(), "shop");
  ASSERT_EQ(request.descriptors().size(), 2U);
  const Request& first = request.descriptors()[0];
  EXPECT_EQ(first.domain, "shop");
  ASSERT_EQ(first.attributes.size(), 2U);
  EXPECT_EQ(first.value_of("remote_address"), "192.0.2.1");
  EXPECT_EQ(first.value_of("path"), "/v1");
  EXPECT_EQ(request.descriptors()[1].attributes[0].name, "user");
}

TEST(RlsRequestTest, C35a_HitsThatAreNotWrittenAreOneAndADescriptorsOwnGoFirst) {
  RlsRequest request;
  const auto cost = [&](std::uint32_t hits, const std::vector<std::int64_t>& own) {
    pb::RateLimitRequest message = one("a", "b");
    message.set_hits_addend(hits);
    for (const std::int64_t hit : own) {
      message.mutable_descriptors(0)->mutable_hits_addend()->set_value(
          static_cast<std::uint64_t>(hit));
    }
    const std::string bytes = message.SerializeAsString();
    EXPECT_TRUE(request.read(bytes));
    return request.descriptors()[0].cost;
  };
  EXPECT_EQ(cost(0, {}), 1U);
  EXPECT_EQ(cost(3, {}), 3U);
  EXPECT_EQ(cost(4294967295, {}), 4294967295U);
  EXPECT_EQ(cost(3, {0}), 0U);  // looks only
  EXPECT_EQ(cost(3, {7}), 7U);
  EXPECT_EQ(cost(0, {-1}), 0xffffffffffffffffU);
}

TEST(RlsRequestTest, NegativeHitsOnlyLook) {
  pb::RateLimitRequest message = one("a", "b");
  message.mutable_descriptors(0)->set_is_negative_hits(true);
  message.mutable_descriptors(0)->mutable_hits_addend()->set_value(5);
  const std::string bytes = message.SerializeAsString();
  RlsRequest request;
  ASSERT_TRUE(request.read(bytes));
  EXPECT_EQ(request.descriptors()[0].cost, 0U);
}

TEST(RlsRequestTest, TheLanguageIsSeenByNoLimit) {
  pb::RateLimitRequest message = one("a", "b");
  add_entry(message.mutable_descriptors()->at(0), "accept_language", "ja");
  add_entry(*message.add_descriptors(), "accept_language", "fr");
  const std::string bytes = message.SerializeAsString();
  RlsRequest request;
  ASSERT_TRUE(request.read(bytes));
  EXPECT_EQ(request.accept_language(), "ja");
  EXPECT_EQ(request.descriptors()[0].attributes.size(), 1U);
  EXPECT_EQ(request.descriptors()[1].attributes.size(), 0U);
}

TEST(RlsRequestTest, WhatIsWrongIsSaid) {
  EXPECT_NE(mistake_of("").find("no descriptors"), std::string::npos);
  EXPECT_NE(mistake_of("\x12\x05z").find("no RateLimitRequest"), std::string::npos);
  pb::RateLimitRequest empty = one("a", "b");
  empty.add_descriptors();
  EXPECT_EQ(mistake_of(empty.SerializeAsString()),
            "descriptors[1] has no entries; send at least one key and value");
  pb::RateLimitRequest many;
  for (int i = 0; i < 65; ++i) add_entry(*many.add_descriptors(), "a", "b");
  EXPECT_EQ(mistake_of(many.SerializeAsString()), "more than 64 descriptors; send fewer");
  pb::RateLimitRequest wide = one("a", "b");
  for (int i = 0; i < 64; ++i) add_entry(wide.mutable_descriptors()->at(0), "a", "b");
  EXPECT_EQ(mistake_of(wide.SerializeAsString()),
            "descriptors[0] has more than 64 entries; send fewer");
}

TEST(RlsRequestTest, AMessageThatIsCutAnywhereIsReadOrRefused) {
  pb::RateLimitRequest message = one("remote_address", std::string(200, 'x'));
  message.set_hits_addend(300);
  const std::string bytes = message.SerializeAsString();
  RlsRequest request;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const bool theirs = pb::RateLimitRequest().ParseFromString(bytes.substr(0, size));
    const std::string mistake = mistake_of(bytes.substr(0, size));
    EXPECT_EQ(theirs, mistake.find("no RateLimitRequest") == std::string::npos) << size;
  }
}

TEST(RatePerUnitTest, TheUnitInWhichAllComesBackElseTheShortestThatIsWhole) {
  const auto text = [](std::uint64_t capacity, Rate rate) {
    const RatePerUnit found = rate_per_unit({capacity, rate});
    return std::to_string(found.requests) + "/" + std::to_string(static_cast<int>(found.unit));
  };
  EXPECT_EQ(text(300, per_minute(300)), "300/2");  // and not 5 a second
  EXPECT_EQ(text(20, per_second(5)), "5/1");
  EXPECT_EQ(text(10, per_minute(10)), "10/2");
  EXPECT_EQ(text(10, per_hour(1)), "1/3");
  EXPECT_EQ(text(1000, per_day(1000)), "1000/4");
  EXPECT_EQ(text(10, {1, 7h}), "10/0");
  EXPECT_EQ(text(1ULL << 60, {16, 1ns}), "4294967295/0");
}

class RlsResponseTest : public testing::Test {
 protected:
  void load(const std::string& text) {
    Loaded loaded = load_policy_text("version: 1\ndomain: d\n" + text, "p.yaml");
    for (const Mistake& mistake : loaded.mistakes) ADD_FAILURE() << mistake.to_string();
    ASSERT_TRUE(live_.install(std::move(loaded.policy), clock_.now()));
    engine_ = std::make_unique<Engine>(live_, store_, counters_, clock_);
  }
  pb::RateLimitResponse ask(const std::vector<std::vector<Attribute>>& descriptors,
                            std::uint64_t cost = 1, std::string_view language = "") {
    std::vector<Request> requests;
    for (const auto& attributes : descriptors) requests.push_back({"d", attributes, cost});
    struct Heard {
      RlsResponseTest* test;
      std::size_t count;
      std::string_view language;
      std::string bytes;
    } heard{this, requests.size(), language, ""};
    engine_->wake(clock_.now());
    engine_->decide_together(requests, 0,
                             {[](void* context, std::span<const Verdict> verdicts) {
                                Heard& to = *static_cast<Heard*>(context);
                                to.test->response_.append(verdicts.front(), to.count,
                                                          read_accept_language(to.language),
                                                          to.test->clock_, to.bytes);
                              },
                              &heard});
    pb::RateLimitResponse response;
    EXPECT_TRUE(response.ParseFromString(heard.bytes));
    EXPECT_EQ(response.SerializeAsString(), heard.bytes);  // nothing but known fields, in order
    return response;
  }
  static std::string header(const pb::RateLimitResponse& response, std::string_view name) {
    for (const auto& header : response.response_headers_to_add()) {
      if (header.key() == name) return header.value();
    }
    return "";
  }

  ManualClock clock_;
  ReferenceStore store_{{}};
  LivePolicy live_{store_, Secret{{1, 2}}};
  LoopCounters counters_;
  std::unique_ptr<Engine> engine_;
  RlsResponse response_;
};

TEST_F(RlsResponseTest, EachDescriptorHasItsOwnStatus) {
  load(
      "limits:\n"
      "  - name: group\n    key: [group]\n    token_bucket: {capacity: 10, refill: 10/min}\n"
      "  - name: route\n    match: {route: r}\n    key: [group]\n"
      "    token_bucket: {capacity: 1, refill: 3/min}\n");
  const std::vector<std::vector<Attribute>> both = {
      {{"group", "g"}}, {{"group", "g"}, {"route", "r"}}, {{"else", "x"}}};
  EXPECT_EQ(ask(both).overall_code(), pb::RateLimitResponse::OK);
  const pb::RateLimitResponse refused = ask(both);
  EXPECT_EQ(refused.overall_code(), pb::RateLimitResponse::OVER_LIMIT);
  ASSERT_EQ(refused.statuses_size(), 3);
  EXPECT_EQ(refused.statuses(0).code(), pb::RateLimitResponse::OK);
  EXPECT_EQ(refused.statuses(0).limit_remaining(), 9U);
  EXPECT_EQ(refused.statuses(0).current_limit().name(), "group");
  EXPECT_EQ(refused.statuses(0).current_limit().requests_per_unit(), 10U);
  EXPECT_EQ(refused.statuses(0).duration_until_reset().seconds(), 6);
  EXPECT_EQ(refused.statuses(1).code(), pb::RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(refused.statuses(1).current_limit().name(), "route");
  EXPECT_EQ(refused.statuses(1).limit_remaining(), 0U);
  EXPECT_EQ(refused.statuses(2).code(), pb::RateLimitResponse::OK);
  EXPECT_FALSE(refused.statuses(2).has_current_limit());
}

TEST_F(RlsResponseTest, C35a_MoreThanThereWillEverBeIsOverTheLimitAndTakesNothing) {
  load("limits:\n  - name: a\n    key: [k]\n    token_bucket: {capacity: 10, refill: 10/min}\n");
  const std::vector<std::vector<Attribute>> same = {{{"k", "x"}}};
  EXPECT_EQ(ask(same).statuses(0).limit_remaining(), 9U);
  EXPECT_EQ(ask(same, 4).statuses(0).limit_remaining(), 5U);
  const pb::RateLimitResponse never = ask(same, 4294967295);
  EXPECT_EQ(never.overall_code(), pb::RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(never.statuses(0).limit_remaining(), 5U);
  EXPECT_EQ(header(never, "retry-after"), "");
  const pb::RateLimitResponse look = ask(same, 0);
  EXPECT_EQ(look.overall_code(), pb::RateLimitResponse::OK);
  EXPECT_EQ(look.statuses(0).limit_remaining(), 5U);
}

TEST_F(RlsResponseTest, ARefusalBringsHeadersAndABodyInTheCallersLanguage) {
  load(
      "responses: {headers: [x-ratelimit], language: de}\n"
      "limits:\n  - name: a\n    key: [k]\n    token_bucket: {capacity: 1, refill: 1/min}\n");
  EXPECT_EQ(header(ask({{{"k", "x"}}}), "x-ratelimit-remaining"), "0");
  const pb::RateLimitResponse ja = ask({{{"k", "x"}}}, 1, "ja");
  EXPECT_EQ(header(ja, "retry-after"), "60");
  EXPECT_EQ(header(ja, "content-language"), "ja");
  EXPECT_EQ(header(ja, "content-type"), "application/problem+json");
  EXPECT_NE(ja.raw_body().find("\"status\":429"), std::string::npos);
  EXPECT_EQ(header(ask({{{"k", "x"}}}), "content-language"), "de");
}

TEST_F(RlsResponseTest, ALimitThatIsNotAdvertisedRefusesAndIsNotShown) {
  load("limits:\n  - name: all\n    key: []\n    token_bucket: {capacity: 1, refill: 1/min}\n");
  EXPECT_FALSE(ask({{{"k", "x"}}}).statuses(0).has_current_limit());
  const pb::RateLimitResponse refused = ask({{{"k", "x"}}});
  EXPECT_EQ(refused.statuses(0).code(), pb::RateLimitResponse::OVER_LIMIT);
  EXPECT_FALSE(refused.statuses(0).has_current_limit());
}

TEST(GrpcCallTest, TimeoutsInEveryUnit) {
  EXPECT_EQ(parse_grpc_timeout("20m"), Duration(20ms));
  EXPECT_EQ(parse_grpc_timeout("1S"), Duration(1s));
  EXPECT_EQ(parse_grpc_timeout("2M"), Duration(2min));
  EXPECT_EQ(parse_grpc_timeout("5u"), Duration(5us));
  EXPECT_EQ(parse_grpc_timeout("99999999n"), Duration(99999999ns));
  EXPECT_GT(*parse_grpc_timeout("99999999H"), Duration(1h));
  for (const char* bad : {"", "m", "1", "-1S", "123456789S", "1s", "1 S"}) {
    EXPECT_FALSE(parse_grpc_timeout(bad)) << bad;
  }
}

TEST(GrpcCallTest, WhatIsGrpcAndHowItsTextsAreWritten) {
  for (const char* good : {"application/grpc", "application/grpc+proto", "application/grpc;x=y"}) {
    EXPECT_TRUE(is_grpc(good)) << good;
  }
  for (const char* bad :
       {"", "application/json", "application/grpc-web", "application/grpc+json"}) {
    EXPECT_FALSE(is_grpc(bad)) << bad;
  }
  EXPECT_EQ(percent_encoded("a 100%\n\xe6"), "a 100%25%0A%E6");
}

}  // namespace
}  // namespace suimon::door
