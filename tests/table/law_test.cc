// The bound, under real threads and the real clock: per key, every window of length t holds at most
// C + floor(R*t), by the instants for which decisions were made.

#include <gtest/gtest.h>

#include <map>

#include "tests/core/model.h"
#include "tests/table/scene.h"
#include "tests/table/threads.h"

namespace suimon::table {
namespace {

using namespace test;

constexpr unsigned kThreads = 4;

// `tokens` every `period`, or so much slower as everything is under a sanitizer: so that requests
// come neither too fast nor too slowly for it.
constexpr Rate rate(std::uint64_t tokens, std::int64_t period) {
  return {tokens, Duration(period * static_cast<std::int64_t>(kSanitized))};
}
constexpr std::int64_t kSecond = 1'000'000'000;

// What one thread was granted, and how often it was refused.
struct Diary {
  struct Grant {
    std::uint64_t key;
    Instant at;
    std::uint64_t tokens;
  };
  std::vector<Grant> grants;
  std::uint64_t refused = 0;

  void write(std::uint64_t key, const Decision& decision) {
    grants.push_back({key, decision.at(), decision.granted()});
  }
};
using Diaries = std::array<Diary, kThreads>;

// A reading of the clock that the thread has held for a while, in odd threads.
Instant reading(Dice& dice, unsigned number, std::uint64_t longest_lag) {
  const Instant now = boot_now();
  if (number % 2 == 0) return now;
  return now + -Duration(static_cast<std::int64_t>(dice.any_size(0, longest_lag)));
}

std::map<std::uint64_t, Admissions> by_key(const Diaries& diaries) {
  std::map<std::uint64_t, Admissions> admitted;
  for (const Diary& diary : diaries) {
    for (const auto& grant : diary.grants) admitted[grant.key].add(grant.at.ns, grant.tokens);
  }
  return admitted;
}

void expect_law(const Diaries& diaries, const std::map<std::uint64_t, Limit>& limits) {
  for (auto& [key, admitted] : by_key(diaries)) {
    EXPECT_TRUE(admitted.within(limits.at(key))) << "key " << key;
  }
}

// Both did happen, so that the test says something.
void expect_both_answers(const Diaries& diaries) {
  std::uint64_t granted = 0;
  std::uint64_t refused = 0;
  for (const Diary& diary : diaries) {
    granted += diary.grants.size();
    refused += diary.refused;
  }
  std::printf("granted %llu, refused %llu\n", static_cast<unsigned long long>(granted),
              static_cast<unsigned long long>(refused));
  EXPECT_GT(granted, 0u);
  EXPECT_GT(refused, 0u);
}

// Three keys under limits of both classes; single takes, pairs and triples in every order.
TEST(Law, HoldsForManyThreadsOnFewKeys) {
  seed();
  Scene scene;
  const std::array<Limit, 3> kinds{Limit{20, rate(400'000, kSecond)},
                                   Limit{20, rate(399'989, kSecond)}, Limit{7, rate(3, 7'000)}};
  std::map<std::uint64_t, Limit> limits;
  for (std::uint64_t i = 0; i < 3; ++i) {
    limits[i] = kinds[i];
    ASSERT_EQ(scene.add("limit " + std::to_string(i), kinds[i]), i);
  }
  Diaries diaries;
  const std::uint64_t calls = 100'000 * stretch() / kSanitized;
  in_threads(kThreads, [&](unsigned number) {
    Dice dice(100 + number);
    for (std::uint64_t call = 0; call < calls; ++call) {
      const std::uint64_t size = dice.one_in(2) ? 1 : dice.uniform(2, 3);
      const std::uint64_t first = dice.uniform(0, 2);
      const std::uint64_t step = dice.uniform(1, 2);
      std::array<Charge, 3> charges;
      for (std::uint64_t i = 0; i < size; ++i) {
        const std::uint64_t key = (first + i * step) % 3;
        charges[i] = {.key = key_number(key),
                      .amount = dice.uniform(1, 5),
                      .shape = static_cast<ShapeNumber>(key)};
        if (size == 1 && dice.one_in(4)) charges[i].op = Op::take_up_to;
      }
      std::array<Decision, 3> decisions;
      const Instant now = reading(dice, number, 100'000);
      bool taken = false;
      if (size == 1 && charges[0].op == Op::take && dice.one_in(2)) {  // the way in two steps
        const auto& [key, amount, max_wait, shape, op, keyless, rekey, other] = charges[0];
        decisions[0] = scene.table.take(key, scene.table.prepare(key.low), shape, amount, now);
        taken = decisions[0].allowed();
      } else {
        taken = scene.table.take({charges.data(), size}, {decisions.data(), size}, now);
      }
      if (taken) {
        for (std::uint64_t i = 0; i < size; ++i) {
          diaries[number].write(charges[i].shape, decisions[i]);
        }
      } else {
        ++diaries[number].refused;
      }
    }
  });
  expect_law(diaries, limits);
  expect_both_answers(diaries);
  EXPECT_EQ(scene.table.figures().overflows, 0u);
}

// Forty keys in twelve places: reclaim and insert race all the time, with clocks that lag. Whoever
// owes anything could not pay the largest cost, so is limited and does not give way.
class LawOfKeysThatComeAndGo : public testing::TestWithParam<Limit> {
 protected:
  static constexpr std::uint64_t kKeys = 40;
  static constexpr std::uint64_t kOverflow = 1'000;

  // Counts the charges that went from this thread to the overflow bucket: figures are kept in
  // shards, and fewer threads live at once than there are shards.
  std::uint64_t overflows() const {
    return RealSteps::load(scene.memory.shards[RealSteps::thread() % kShards].overflows);
  }
  void expect_law_of_all() const {
    std::map<std::uint64_t, Limit> limits{{kOverflow, GetParam()}};
    for (std::uint64_t key = 0; key < kKeys; ++key) limits[key] = GetParam();
    expect_law(diaries, limits);
    expect_both_answers(diaries);
    EXPECT_EQ(scene.table.figures().evictions, 0u);
    EXPECT_EQ(scene.table.figures().entries, scene.places_taken());
  }

  Scene scene;
  const ShapeNumber shape = scene.add("limit", GetParam(), {.largest_cost = GetParam().capacity});
  Diaries diaries;
  const std::uint64_t calls = 100'000 * stretch() / kSanitized;
};
INSTANTIATE_TEST_SUITE_P(Limits, LawOfKeysThatComeAndGo,
                         testing::Values(Limit{4, rate(1, 10'000)}, Limit{4, rate(99'991, kSecond)},
                                         Limit{1, rate(1, 2'000)}));

TEST_P(LawOfKeysThatComeAndGo, HoldsForSingleTakes) {
  seed();
  in_threads(kThreads, [&](unsigned number) {
    Dice dice(200 + number);
    for (std::uint64_t call = 0; call < calls; ++call) {
      const std::uint64_t key = dice.uniform(0, kKeys - 1);
      const std::uint64_t before = overflows();
      const Instant now = reading(dice, number, 200'000);
      const Decision decision = take_one(
          scene.table,
          {.key = key_number(key), .amount = dice.uniform(1, GetParam().capacity), .shape = shape},
          now);
      const bool shared = overflows() != before;
      if (decision.allowed()) {
        diaries[number].write(shared ? kOverflow : key, decision);
      } else {
        ++diaries[number].refused;
      }
    }
  });
  expect_law_of_all();
}

// Pairs of keys that come and go, beside single takes. A group that began again may have counted
// an overflow and then found a place, so what it was granted then is told of nobody.
TEST_P(LawOfKeysThatComeAndGo, HoldsForPairs) {
  seed();
  in_threads(kThreads, [&](unsigned number) {
    Dice dice(300 + number);
    for (std::uint64_t call = 0; call < calls; ++call) {
      const std::uint64_t one = dice.uniform(0, kKeys - 1);
      const std::uint64_t other = (one + dice.uniform(1, kKeys - 1)) % kKeys;
      const std::uint64_t cost = dice.uniform(1, GetParam().capacity);
      const std::array charges{Charge{.key = key_number(one), .amount = cost, .shape = shape},
                               Charge{.key = key_number(other), .amount = 1, .shape = shape}};
      const std::size_t size = dice.uniform(1, 2);
      std::array<Decision, 2> decisions;
      const std::uint64_t before = overflows();
      const Instant now = reading(dice, number, 200'000);
      if (!scene.table.take({charges.data(), size}, {decisions.data(), size}, now)) {
        ++diaries[number].refused;
      } else if (overflows() == before) {
        diaries[number].write(one, decisions[0]);
        if (size == 2) diaries[number].write(other, decisions[1]);
      }
    }
  });
  expect_law_of_all();
}

}  // namespace
}  // namespace suimon::table
