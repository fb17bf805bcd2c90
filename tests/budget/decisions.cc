// Makes one kind of decision, a number of times, and nothing else: counted by instructions_test.py.
//
//   decisions KIND COUNT        KIND: allowed, refused, batched, pair
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "suimon/limiter.h"
#include "suimon/store/memory.h"

namespace {

using namespace suimon;

constexpr std::string_view kKey = "203.0.113.9:8080";  // 16 bytes
constexpr Limit kLarge{1'000'000'000, per_second(1)};
constexpr Instant kNow{};

[[noreturn]] void fail(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  std::exit(1);
}

void one_by_one(bool allowed, long count) {
  Limiter limiter({.limit = allowed ? kLarge : Limit{1, per_day(1)}, .max_keys = 1'000});
  limiter.check(kKey, 1, kNow);
  for (long i = 0; i < count; ++i) {
    if (limiter.check(kKey, 1, kNow).allowed() != allowed) fail("another decision");
  }
}

void batched(long count) {
  Limiter limiter({.limit = kLarge, .max_keys = 1'000});
  const std::vector<std::string_view> keys(16, kKey);
  std::vector<Decision> decisions(16);
  limiter.check_many(keys, decisions, kNow);
  for (long i = 0; i < count; i += 16) limiter.check_many(keys, decisions, kNow);
  if (!decisions[15].allowed()) fail("another decision");
}

void pair(long count) {
  Shapes shapes;
  const auto store = MemoryStore::open({.max_keys = 1'000});
  if (!store) fail("no store");
  std::array<Charge, 2> charges;
  for (std::uint64_t i = 0; i < 2; ++i) {
    const auto shape =
        shapes.assign(i == 0 ? "a" : "b", "", Algorithm::token_bucket, kLarge, Instant::min());
    if (!shape || !(*store)->adopt({&*shape, 1})) fail("no shape");
    charges[i] = {.key = {i << 60 | 1, i << 60 | 2}, .shape = (*shape)->number};
  }
  std::array<Decision, 2> decisions;
  Group group{charges, decisions};
  for (long i = 0; i < count + 1; ++i) {
    (*store)->take({&group, 1}, kNow, {[](void*, const Result<void>&) {}, nullptr});
    if (!group.taken) fail("another decision");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) fail("write which kind of decision, and how many");
  const std::string_view kind = argv[1];
  const long count = std::atol(argv[2]);
  if (kind == "allowed" || kind == "refused") {
    one_by_one(kind == "allowed", count);
  } else if (kind == "batched") {
    batched(count);
  } else if (kind == "pair") {
    pair(count);
  } else {
    fail("no such kind");
  }
  return 0;
}
