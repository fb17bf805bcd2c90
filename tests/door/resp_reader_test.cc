#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "suimon/door/resp/reader.h"

namespace suimon::door {
namespace {

using Status = RespReader::Status;

struct Read {
  Status status = Status::need_more;
  std::vector<std::string> words;
  std::size_t consumed = 0;
  std::string error;
};

Read read(std::string_view in, bool proved = true, const RespLimits& limits = {}) {
  RespReader reader(limits);
  Read read;
  read.status = reader.read(in, proved, read.consumed);
  for (const std::string_view word : reader.words()) read.words.emplace_back(word);
  read.error = reader.error();
  return read;
}

using Words = std::vector<std::string>;

TEST(RespReader, AnArrayOfBulkStringsIsACommand) {
  const Read got = read("*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n*1\r\n");
  EXPECT_EQ(got.status, Status::command);
  EXPECT_EQ(got.words, Words({"ECHO", "hi"}));
  EXPECT_EQ(got.consumed, 22U);
}

TEST(RespReader, WordsMayHoldAnyBytes) {
  const std::string in("*2\r\n$1\r\nK\r\n$5\r\n\0\r\n\xff*\r\n", 22);
  const Read got = read(in);
  EXPECT_EQ(got.status, Status::command);
  EXPECT_EQ(got.words[1], std::string("\0\r\n\xff*", 5));
}

TEST(RespReader, AnEmptyWordIsAWord) {
  EXPECT_EQ(read("*2\r\n$4\r\nECHO\r\n$0\r\n\r\n").words, Words({"ECHO", ""}));
}

TEST(RespReader, EveryBeginningOfACommandWantsMoreAndConsumesNothing) {
  const std::string whole = "*3\r\n$4\r\nECHO\r\n$2\r\nhi\r\n$0\r\n\r\n";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Read got = read(std::string_view(whole).substr(0, size));
    EXPECT_EQ(got.status, Status::need_more) << size;
    EXPECT_EQ(got.consumed, 0U) << size;
  }
}

TEST(RespReader, ALineIsACommandToo) {
  const Read got = read("  PING \t hi\r\nPING\r\n");
  EXPECT_EQ(got.status, Status::command);
  EXPECT_EQ(got.words, Words({"PING", "hi"}));
  EXPECT_EQ(got.consumed, 13U);
  EXPECT_EQ(read("PING\n").words, Words({"PING"}));
  EXPECT_EQ(read("PING").status, Status::need_more);
}

TEST(RespReader, AWordOfALineMayBeQuoted) {
  EXPECT_EQ(read("ECHO \"a b\\r\\n\\x41\\\"\\q\" 'c\\'d\\n'\n").words,
            Words({"ECHO", "a b\r\nA\"q", "c'd\\n"}));
  EXPECT_EQ(read("ECHO \"\" ''\n").words, Words({"ECHO", "", ""}));
}

TEST(RespReader, AQuoteThatDoesNotEndIsAnError) {
  for (const char* line : {"ECHO \"a\n", "ECHO 'a\n", "ECHO \"a\"b\n", "ECHO 'a'b\n"}) {
    const Read got = read(line);
    EXPECT_EQ(got.status, Status::bad) << line;
    EXPECT_EQ(got.error, "Protocol error: unbalanced quotes in request");
  }
}

TEST(RespReader, EmptyLinesAndArraysAreNoCommand) {
  for (const char* in : {"\r\n", "\n", "   \r\n", "*0\r\n", "*-1\r\n"}) {
    const Read got = read(in);
    EXPECT_EQ(got.status, Status::nothing) << in;
    EXPECT_EQ(got.consumed, std::string(in).size());
  }
}

TEST(RespReader, WhatIsNoArrayOfBulkStringsIsAnErrorInTheWordsOfRedis) {
  const std::pair<const char*, const char*> cases[] = {
      {"*x\r\n", "invalid multibulk length"},
      {"*\r\n", "invalid multibulk length"},
      {"*1\rx", "invalid multibulk length"},
      {"*99999999999\r\n", "invalid multibulk length"},
      {"*1025\r\n", "invalid multibulk length"},
      {"*1\r\n:1\r\n", "expected '$', got ':'"},
      {"*1\r\n\x01", "expected '$', got '?'"},
      {"*1\r\n$x\r\n", "invalid bulk length"},
      {"*1\r\n$-1\r\n", "invalid bulk length"},
      {"*1\r\n$65537\r\n", "invalid bulk length"},
      {"*1\r\n$1\r\nabc\r\n", "a bulk string is longer than its length says"},
  };
  for (const auto& [in, error] : cases) {
    const Read got = read(in);
    EXPECT_EQ(got.status, Status::bad) << in;
    EXPECT_EQ(got.error, std::string("Protocol error: ") + error) << in;
  }
}

TEST(RespReader, WhoHasNotShownThePasswordSendsLittle) {
  EXPECT_EQ(read("*11\r\n", false).error, "Protocol error: unauthenticated multibulk length");
  EXPECT_EQ(read("*1\r\n$16385\r\n", false).error, "Protocol error: unauthenticated bulk length");
  EXPECT_EQ(read("*11\r\n").status, Status::need_more);
  EXPECT_EQ(read("*1\r\n$16385\r\n").status, Status::need_more);
}

TEST(RespReader, ALineThatDoesNotEndIsAnErrorAtItsBound) {
  EXPECT_EQ(read(std::string(64 << 10, 'a')).status, Status::need_more);
  EXPECT_EQ(read(std::string((64 << 10) + 1, 'a')).error, "Protocol error: too big inline request");
}

TEST(RespReader, AWholeCommandIsBoundedWhateverItsWords) {
  std::string in = "*1000\r\n";
  for (int i = 0; i < 15; ++i) in += "$65536\r\n" + std::string(65536, 'a') + "\r\n";
  EXPECT_EQ(read(in).status, Status::need_more);
  in += "$65536\r\n" + std::string(65536, 'a') + "\r\n";
  EXPECT_EQ(read(in).error, "Protocol error: too big a command");
}

TEST(RespReader, ALineOfAStrangerIsShort) {
  EXPECT_EQ(read("a b c d e f g h i j\n", false).words.size(), 10U);
  EXPECT_EQ(read("a b c d e f g h i j k\n", false).error,
            "Protocol error: too many words in an inline request");
  EXPECT_EQ(read(std::string(16384, 'a') + "\n", false).status, Status::command);
  EXPECT_EQ(read(std::string(16385, 'a'), false).error, "Protocol error: too big inline request");
}

TEST(RespReader, TooManyWordsInALineAreAnError) {
  std::string line;
  for (int i = 0; i < 1024; ++i) line += "a ";
  EXPECT_EQ(read(line + "\n").words.size(), 1024U);
  EXPECT_EQ(read(line + "a\n").status, Status::bad);
}

}  // namespace
}  // namespace suimon::door
