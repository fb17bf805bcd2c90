// The words of CL.THROTTLE and THROTTLE: what is read, and what the peers would tell of a decision.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "suimon/core/algorithms.h"
#include "suimon/door/resp/throttle_call.h"
#include "tests/timeline.h"

namespace suimon::door {
namespace {

using Reply = std::array<std::int64_t, 5>;
using enum ThrottleDialect;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const auto end = line.find(' ');
    words.push_back(line.substr(0, end));
    line = end == std::string_view::npos ? std::string_view{} : line.substr(end + 1);
  }
  return words;
}

std::string error_of(ThrottleDialect dialect, std::string_view line) {
  ThrottleCall call;
  std::string error;
  return read_throttle(dialect, words_of(line), call, error) ? "" : error;
}

// One key, whose calls are decided one after the other.
class Timeline {
 public:
  explicit Timeline(ThrottleDialect dialect) : dialect_(dialect) {}

  // The reply to `line` at an instant in nanoseconds.
  Reply at(std::int64_t ns, std::string_view line) {
    ThrottleCall call;
    std::string error;
    EXPECT_TRUE(read_throttle(dialect_, words_of(line), call, error)) << error;
    const Limit limit{call.set.capacity, {1, call.set.interval}};
    const auto step = algorithms::TokenBucket::decide(
        word_, detail::word_scale(limit), Instant(Duration(ns)), call.amount, call.op, Duration(0));
    if (step.writes) word_ = step.after;
    return throttle_reply(dialect_, call.set, step.decision);
  }

 private:
  ThrottleDialect dialect_;
  Word word_;
};

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(ClThrottle, ABurstOfAThousandAndOneThenAWaitRoundedUp) {
  Timeline key(cl_throttle);
  EXPECT_EQ(key.at(kSecond, "CL.THROTTLE k 1000 1000 60"), (Reply{0, 1001, 1000, -1, 1}));
  EXPECT_EQ(key.at(kSecond, "CL.THROTTLE k 1000 1000 60"), (Reply{0, 1001, 999, -1, 1}));
  for (int i = 2; i < 1000; ++i) key.at(kSecond, "CL.THROTTLE k 1000 1000 60");
  EXPECT_EQ(key.at(kSecond, "CL.THROTTLE k 1000 1000 60"), (Reply{0, 1001, 0, -1, 61}));
  EXPECT_EQ(key.at(kSecond, "CL.THROTTLE k 1000 1000 60"), (Reply{1, 1001, 0, 1, 61}));
}

TEST(ClThrottle, AnIntervalThatIsNoWholeMicrosecond) {
  Timeline key(cl_throttle);
  EXPECT_EQ(key.at(0, "CL.THROTTLE k 20 1500 1 1")[2], 20);
}

TEST(ClThrottle, TwoThousandASecondOneAtATime) {
  Timeline key(cl_throttle);
  EXPECT_EQ(key.at(kSecond, "CL.THROTTLE k 0 2000 1 1")[0], 0);
  EXPECT_EQ(key.at(kSecond + 499'999, "CL.THROTTLE k 0 2000 1 1")[0], 1);
  EXPECT_EQ(key.at(kSecond + 500'000, "CL.THROTTLE k 0 2000 1 1")[0], 0);
}

TEST(ClThrottle, EightThousandASecondIsARate) {
  Timeline key(cl_throttle);
  EXPECT_EQ(key.at(kSecond, "CL.THROTTLE k 1 8000 1 1"), (Reply{0, 2, 1, -1, 0}));
}

TEST(ClThrottle, WholeSecondsStayAndMillisecondsCountUp) {
  Timeline whole(cl_throttle);
  EXPECT_EQ(whole.at(0, "CL.THROTTLE k 0 1 2"), (Reply{0, 1, 0, -1, 2}));
  EXPECT_EQ(whole.at(0, "CL.THROTTLE k 0 1 2"), (Reply{1, 1, 0, 2, 2}));
  EXPECT_EQ(whole.at(kSecond, "CL.THROTTLE k 0 1 2"), (Reply{1, 1, 0, 1, 1}));
  // Less than a millisecond of a second is dropped, as redis-cell drops it.
  EXPECT_EQ(whole.at(kSecond - 999'999, "CL.THROTTLE k 0 1 2"), (Reply{1, 1, 0, 1, 1}));
  EXPECT_EQ(whole.at(kSecond - 1'000'000, "CL.THROTTLE k 0 1 2"), (Reply{1, 1, 0, 2, 2}));
}

TEST(ClThrottle, MoreThanTheWholeBucketIsRefusedForGood) {
  Timeline key(cl_throttle);
  EXPECT_EQ(key.at(0, "CL.THROTTLE k 4 1 1 6"), (Reply{1, 5, 5, -1, 0}));
  EXPECT_EQ(key.at(0, "CL.THROTTLE k 4 1 1 9223372036854775807"), (Reply{1, 5, 5, -1, 0}));
  EXPECT_EQ(key.at(0, "CL.THROTTLE k 4 1 1 5"), (Reply{0, 5, 0, -1, 5}));
}

TEST(ClThrottle, AQuantityOfZeroLooks) {
  Timeline key(cl_throttle);
  EXPECT_EQ(key.at(0, "CL.THROTTLE k 4 1 1 0"), (Reply{0, 5, 5, -1, 0}));
  key.at(0, "CL.THROTTLE k 4 1 1 2");
  EXPECT_EQ(key.at(0, "CL.THROTTLE k 4 1 1 0"), (Reply{0, 5, 3, -1, 2}));
}

TEST(ClThrottle, AQuantityBelowZeroGivesBackUntilTheBucketIsFull) {
  Timeline key(cl_throttle);
  key.at(0, "CL.THROTTLE k 4 1 1 4");
  EXPECT_EQ(key.at(0, "CL.THROTTLE k 4 1 1 -3"), (Reply{0, 5, 4, -1, 1}));
  EXPECT_EQ(key.at(0, "CL.THROTTLE k 4 1 1 -9223372036854775808"), (Reply{0, 5, 5, -1, 0}));
  EXPECT_EQ(key.at(0, "CL.THROTTLE k 4 1 1 6"), (Reply{1, 5, 5, -1, 0}));
}

TEST(ClThrottle, WhatIsWrongIsSaidAsRedisCellDoes) {
  EXPECT_EQ(error_of(cl_throttle, "CL.THROTTLE k 1 1"),
            "Cell error: Usage: cl.throttle <key> <max_burst> <count per period> <period> "
            "[<quantity>]");
  EXPECT_EQ(error_of(cl_throttle, "CL.THROTTLE k 1 1 1 1 1"), error_of(cl_throttle, "CL.THROTTLE"));
  EXPECT_EQ(error_of(cl_throttle, "CL.THROTTLE k 1 x 1"),
            "Cell error: Couldn't parse as integer: x");
  EXPECT_EQ(error_of(cl_throttle, "CL.THROTTLE k 1 9223372036854775808 1"),
            "Cell error: Couldn't parse as integer: 9223372036854775808");
  for (const char* zero : {"CL.THROTTLE k 1 0 1", "CL.THROTTLE k 1 1 0", "CL.THROTTLE k 1 0 0",
                           "CL.THROTTLE k 1 1000000001 1"}) {
    EXPECT_EQ(error_of(cl_throttle, zero), "Cell error: Zero rates are not supported") << zero;
  }
}

TEST(ClThrottle, WhatHasNoMeaningIsAnErrorThatSaysWhy) {
  EXPECT_NE(error_of(cl_throttle, "CL.THROTTLE k -1 1 1").find("max_burst"), std::string::npos);
  EXPECT_NE(error_of(cl_throttle, "CL.THROTTLE k 9223372036854775807 1 1").find("max_burst"),
            std::string::npos);
  EXPECT_NE(error_of(cl_throttle, "CL.THROTTLE k 1 -1 1").find("below zero"), std::string::npos);
  EXPECT_NE(error_of(cl_throttle, "CL.THROTTLE k 1 1 -1").find("below zero"), std::string::npos);
  EXPECT_NE(error_of(cl_throttle, "CL.THROTTLE k 1 1 9223372037").find("too long"),
            std::string::npos);
  EXPECT_EQ(error_of(cl_throttle, "CL.THROTTLE k +1 +1 +1 +1"), "");
}

// redis-cell's arithmetic, written down once more: a theoretical arrival time and the parameters.
Reply cell_reply(std::int64_t now, std::int64_t& tat, std::int64_t max_burst, std::int64_t count,
                 std::int64_t period, std::int64_t quantity) {
  const auto interval =
      static_cast<std::int64_t>(static_cast<double>(period * kSecond) / static_cast<double>(count));
  const std::int64_t tolerance = interval * (max_burst + 1);
  const std::int64_t increment = interval * quantity;
  const std::int64_t from = std::max(now, tat);
  const std::int64_t ahead = from + increment - tolerance - now;
  const auto seconds = [](std::int64_t ns) {
    return ns / kSecond + (ns % kSecond / 1'000'000 > 0 ? 1 : 0);
  };
  std::int64_t retry_after = -1;
  std::int64_t ttl = from - now;
  if (ahead > 0) {
    if (increment <= tolerance) retry_after = seconds(ahead);
  } else {
    ttl = std::max<std::int64_t>(0, from + increment - now);
    tat = now + ttl;
  }
  const std::int64_t left = tolerance - ttl;
  const double remaining = static_cast<double>(left / 1000) / static_cast<double>(interval / 1000);
  return {ahead > 0 ? 1 : 0, max_burst + 1,
          left > -interval ? static_cast<std::int64_t>(remaining) : 0, retry_after, seconds(ttl)};
}

TEST(ClThrottle, RandomCallsInTimeAreAnsweredByRedisCellsArithmetic) {
  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  for (int keys = 0; keys < 2000; ++keys) {
    Timeline key(cl_throttle);
    const std::int64_t most = std::array{10, 1000, 1'000'000}[static_cast<std::size_t>(keys % 3)];
    const std::int64_t max_burst = between(0, most);
    const std::int64_t period = between(1, most);
    const std::int64_t count = between(1, std::min(most, period * 1'000'000));
    const std::int64_t interval = period * kSecond / count;
    std::int64_t now = between(0, 1'000'000) * kSecond;
    std::int64_t tat = 0;
    for (int calls = 0; calls < 20; ++calls) {
      const std::int64_t quantity = between(0, 3) > 0 ? 1 : between(-3, max_burst + 2);
      const std::string line = "CL.THROTTLE k " + std::to_string(max_burst) + " " +
                               std::to_string(count) + " " + std::to_string(period) + " " +
                               std::to_string(quantity);
      ASSERT_EQ(key.at(now, line), cell_reply(now, tat, max_burst, count, period, quantity))
          << line << " at " << now << " SUIMON_SEED=" << seed;
      now += between(0, between(0, 2) == 0 ? 2 * interval : 1'000'000);
    }
  }
}

TEST(Throttle, TheBurstIsTheWholeBucketAndTheWordsHaveAnotherOrder) {
  Timeline key(throttle);
  EXPECT_EQ(key.at(0, "THROTTLE k 3 1 60"), (Reply{1, 3, 2, 120, 0}));
  EXPECT_EQ(key.at(0, "THROTTLE k 3 1 60"), (Reply{1, 3, 1, 180, 0}));
  EXPECT_EQ(key.at(0, "THROTTLE k 3 1 60"), (Reply{1, 3, 0, 240, 0}));
  EXPECT_EQ(key.at(0, "THROTTLE k 3 1 60"), (Reply{0, 3, 0, 240, 60}));
}

TEST(Throttle, AWaitIsRoundedUpSoThatItIsEnough) {
  Timeline key(throttle);
  key.at(0, "THROTTLE k 1 2 1");
  EXPECT_EQ(key.at(0, "THROTTLE k 1 2 1")[4], 1);
  EXPECT_EQ(key.at(kSecond / 2, "THROTTLE k 1 2 1")[0], 1);
}

TEST(Throttle, MoreThanTheBurstIsRefusedForGood) {
  Timeline key(throttle);
  const Reply reply = key.at(0, "THROTTLE k 3 1 60 4");
  EXPECT_EQ(reply[0], 0);
  EXPECT_EQ(reply[2], 3);
  EXPECT_EQ(reply[4], -1);
}

TEST(Throttle, WhatIsWrongIsSaidAsThrottlecrabDoes) {
  EXPECT_EQ(error_of(throttle, "THROTTLE k 1 1"),
            "ERR wrong number of arguments for 'throttle' command");
  EXPECT_EQ(error_of(throttle, "THROTTLE k a 1 1"), "ERR invalid max_burst");
  EXPECT_EQ(error_of(throttle, "THROTTLE k 1 a 1"), "ERR invalid count_per_period");
  EXPECT_EQ(error_of(throttle, "THROTTLE k 1 1 a"), "ERR invalid period");
  EXPECT_EQ(error_of(throttle, "THROTTLE k 1 1 1 a"), "ERR invalid quantity");
  EXPECT_EQ(error_of(throttle, "THROTTLE k 1 1 1 -2"), "ERR negative quantity: -2");
  for (const char* wrong :
       {"THROTTLE k 0 1 1", "THROTTLE k 1 0 1", "THROTTLE k 1 1 0", "THROTTLE k -1 1 1"}) {
    EXPECT_EQ(error_of(throttle, wrong), "ERR invalid rate limit parameters") << wrong;
  }
}

}  // namespace
}  // namespace suimon::door
