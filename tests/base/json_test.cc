#include "suimon/base/json.h"

#include <gtest/gtest.h>

#include <random>

namespace suimon {
namespace {

std::string json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

constexpr const char* kUnknown = "\xEF\xBF\xBD";

TEST(JsonString, PlainTextStandsAsItIs) {
  EXPECT_EQ(json(""), "\"\"");
  EXPECT_EQ(json("per-address"), "\"per-address\"");
  EXPECT_EQ(json("水門 é 🌊"), "\"水門 é 🌊\"");
}

TEST(JsonString, QuotesAndControlsAreEscaped) {
  EXPECT_EQ(json("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(json("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  EXPECT_EQ(json(std::string_view("\0\x1b[31m\x7f", 7)), R"("\u0000\u001b[31m\u007f")");
}

TEST(JsonString, AppendsAndKeepsWhatWasThere) {
  std::string out = "{";
  append_json_string(out, "x");
  EXPECT_EQ(out, "{\"x\"");
}

TEST(JsonString, BrokenUtf8IsReplacedOncePerMaximalSubpart) {
  const std::string u = kUnknown;
  EXPECT_EQ(json("a\x80z"), "\"a" + u + "z\"");                      // a continuation alone
  EXPECT_EQ(json("\xC0\xAF"), "\"" + u + u + "\"");                  // overlong slash
  EXPECT_EQ(json("\xED\xA0\x80"), "\"" + u + u + u + "\"");          // a surrogate
  EXPECT_EQ(json("\xF4\x90\x80\x80"), "\"" + u + u + u + u + "\"");  // above U+10FFFF
  EXPECT_EQ(json("\xE2\x82"), "\"" + u + "\"");                      // cut short at the end
  EXPECT_EQ(json("\xE2\x82\""), "\"" + u + "\\\"\"");                // cut short before a quote
  EXPECT_EQ(json("\xF0\x9F\x8C"
                 "A"),
            "\"" + u + "A\"");
  EXPECT_EQ(json("\xFF\xFE"), "\"" + u + u + "\"");
}

TEST(JsonString, AnyBytesGiveOneClosedStringWithoutControls) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 12, '\0');
    for (char& c : text) c = static_cast<char>(random());
    const std::string out = json(text);
    ASSERT_GE(out.size(), 2U);
    ASSERT_EQ(out.back(), '"');
    for (std::size_t i = 1; i + 1 < out.size(); ++i) {
      ASSERT_GE(static_cast<unsigned char>(out[i]), 0x20);
      ASSERT_NE(out[i], '"');
      if (out[i] == '\\') {
        ASSERT_LT(++i, out.size() - 1);
      }
    }
    // Valid UTF-8 comes out unchanged, so a second pass over the same bytes replaces nothing.
    std::string inner = out.substr(1, out.size() - 2);
    std::erase(inner, '\\');
    std::erase(inner, '"');
    ASSERT_EQ(json(inner), "\"" + inner + "\"");
  }
}

}  // namespace
}  // namespace suimon
