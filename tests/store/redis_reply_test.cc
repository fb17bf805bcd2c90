#include <gtest/gtest.h>

#include <string>

#include "suimon/store/redis/reply.h"

namespace suimon::redis {
namespace {

using Found = ReplyReader::Found;
using Type = Value::Type;

TEST(RedisReply, ValuesOfBothProtocols) {
  ReplyReader reader;
  reader.feed(
      "*9\r\n+OK\r\n-ERR no\r\n:-7\r\n$2\r\n\r\n\r\n$-1\r\n*0\r\n#t\r\n,1.5\r\n%1\r\n+a\r\n_\r\n");
  ASSERT_EQ(reader.next(), Found::answer);
  const auto& all = reader.value().elements;
  ASSERT_EQ(all.size(), 9u);
  EXPECT_EQ(all[0].text, "OK");
  EXPECT_EQ(all[1].type, Type::error);
  EXPECT_EQ(all[1].text, "ERR no");
  EXPECT_EQ(all[2].integer, -7);
  EXPECT_EQ(all[3].text, "\r\n") << "a string may hold anything";
  EXPECT_EQ(all[4].type, Type::nil);
  EXPECT_EQ(all[5].type, Type::array);
  EXPECT_TRUE(all[5].elements.empty());
  EXPECT_EQ(all[6].integer, 1);
  EXPECT_EQ(all[7].text, "1.5");
  ASSERT_EQ(all[8].elements.size(), 2u) << "a map is keys and values by turns";
  EXPECT_EQ(all[8].elements[1].type, Type::nil);
  EXPECT_EQ(reader.next(), Found::nothing);
}

TEST(RedisReply, AnswerInSinglePiecesIsTheSame) {
  ReplyReader reader;
  const std::string bytes = "*2\r\n$5\r\nhello\r\n*1\r\n:12\r\n";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(reader.next(), Found::nothing) << i;
    reader.feed(bytes.substr(i, 1));
  }
  ASSERT_EQ(reader.next(), Found::answer);
  EXPECT_EQ(reader.value().elements[0].text, "hello");
  EXPECT_EQ(reader.value().elements[1].elements[0].integer, 12);
}

TEST(RedisReply, PushAndAttributesAreToldApart) {
  ReplyReader reader;
  reader.feed(">1\r\n+news\r\n|1\r\n+ttl\r\n:3\r\n*2\r\n|1\r\n+a\r\n*1\r\n+b\r\n:5\r\n:6\r\n");
  EXPECT_EQ(reader.next(), Found::push);
  ASSERT_EQ(reader.next(), Found::answer);
  ASSERT_EQ(reader.value().elements.size(), 2u);
  EXPECT_EQ(reader.value().elements[0].integer, 5);
  EXPECT_EQ(reader.value().elements[1].integer, 6);
}

TEST(RedisReply, GarbageIsSaidToBeAndThenNothingIsFound) {
  const std::string nested = [] {
    std::string text;
    for (std::size_t i = 0; i <= ReplyReader::kMostNesting; ++i) text += "*1\r\n";
    return text;
  }();
  for (const std::string& bytes :
       {std::string("HTTP/1.1 400 Bad Request\r\n"), std::string("\r\n"), std::string("+OK\n"),
        std::string(":1x\r\n"), std::string("$-2\r\n"), std::string("$3\r\nabcde"),
        std::string("*4294967296\r\n"), std::string("*300000\r\n"), std::string("$8388609\r\n"),
        std::string("$?\r\n"), std::string("#x\r\n"), std::string("*1\r\n>1\r\n"), nested,
        std::string(ReplyReader::kMostLine + 2, '+')}) {
    ReplyReader reader;
    reader.feed(bytes);
    EXPECT_EQ(reader.next(), Found::garbage) << bytes.substr(0, 40);
    EXPECT_FALSE(reader.mistake().empty());
    reader.feed("+OK\r\n");
    EXPECT_EQ(reader.next(), Found::garbage) << "there is no going on after it";
  }
}

TEST(RedisReply, LongChainOfAttributesTakesNoStack) {
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += "|1\r\n+a\r\n+b\r\n";
  ReplyReader reader;
  reader.feed(bytes + ":7\r\n");
  ASSERT_EQ(reader.next(), Found::answer);
  EXPECT_EQ(reader.value().integer, 7);
}

}  // namespace
}  // namespace suimon::redis
