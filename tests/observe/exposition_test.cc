#include "suimon/observe/exposition.h"

#include <gtest/gtest.h>

#include <cmath>

namespace suimon {
namespace {

TEST(Exposition, SamplesAreReadWithTheirLabels) {
  const auto samples = parse_exposition(
      "# HELP a Words { \" }.\n# TYPE a counter\n"
      "a 1\n"
      "b{door=\"http\",domain=\"\"} 2.5e3 1700000000\n"
      "\n"
      "  c { x = \"a\\\\b\\\"c\\nd,}\" , } +7\n"
      "d_bucket{le=\"+Inf\"} +Inf\n"
      "e -Inf\nf NaN");
  ASSERT_TRUE(samples) << samples.error().text;
  ASSERT_EQ(samples->size(), 6U);
  EXPECT_EQ((*samples)[0].name, "a");
  EXPECT_EQ((*samples)[0].value, 1);
  EXPECT_EQ((*samples)[1].label("door"), "http");
  EXPECT_EQ((*samples)[1].label("domain"), "");
  EXPECT_EQ((*samples)[1].label("none"), "");
  EXPECT_EQ((*samples)[1].value, 2500);
  EXPECT_EQ((*samples)[2].label("x"), "a\\b\"c\nd,}");
  EXPECT_EQ((*samples)[2].value, 7);
  EXPECT_TRUE(std::isinf((*samples)[3].value));
  EXPECT_EQ((*samples)[4].value, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan((*samples)[5].value));
}

TEST(Exposition, WhatIsNoSampleIsNamedByItsLine) {
  for (const std::string_view line :
       {"a", "a b", "{x=\"1\"} 1", "a{x} 1", "a{x=1} 1", "a{x=\"1} 1", "a{x=\"1\" 1", "a{,} 1",
        "a{x=\"1\"y=\"2\"} 1", "a 1x", "a 0x10", "a{x=\"\\", "<html>"}) {
    const auto samples = parse_exposition("good 1\n" + std::string(line));
    ASSERT_FALSE(samples) << line;
    EXPECT_EQ(samples.error().text, "line 2 is no sample of a metric") << line;
  }
}

}  // namespace
}  // namespace suimon
