// Everything that limits one client by one token bucket, under one name each, so that a case is
// written once and run over all: TokenBucket, Limiter, and every registered store.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "suimon/base/siphash.h"
#include "suimon/limiter.h"
#include "suimon/store/stores.h"
#include "suimon/token_bucket.h"
#include "tests/store/redis_on_a_loop.h"
#include "tests/timeline.h"

namespace suimon::test {

// Keys as a hash makes them: every bit varies.
inline Key key_number(std::uint64_t n) {
  const Hash128 hash =
      siphash128<1, 3>(SipKey{1, 2}, {reinterpret_cast<const char*>(&n), sizeof n});
  return {hash.high, hash.low};
}

inline const Key kA = key_number(1'000'000'001);
inline const Key kB = key_number(1'000'000'002);

inline std::vector<std::string> store_urls() {
  std::vector<std::string> urls;
  for (const StoreKind& kind : registered_stores())
    urls.push_back(std::string(kind.scheme) + "://");
  return urls;
}

// Those, and the stores that need a server, where there is one. (What a store does when its own
// memory is full is no matter of theirs.)
inline std::vector<std::string> contract_urls() {
  std::vector<std::string> urls = store_urls();
  if (std::filesystem::exists("/usr/bin/redis-server")) urls.push_back("redis://");
  return urls;
}

inline Result<std::unique_ptr<Store>> open_any_store(std::string_view url,
                                                     WhenFull when_full = WhenFull::share) {
  if (!url.starts_with("redis://"))
    return open_store(url, {.when_full = when_full, .password = {}});
  if (RedisServer::get() == nullptr) return failure("redis-server does not start");
  return std::make_unique<RedisOnALoop>();
}

// Runs one group and waits for its answer; every store here answers inline or later, once.
inline Result<void> take_group(Store& store, std::span<const Charge> charges,
                               std::span<Decision> decisions, Instant now, bool* taken = nullptr) {
  Group group{charges, decisions};
  struct Answer {
    int runs = 0;
    Result<void> result;
  } answer;
  store.take({&group, 1}, now,
             {[](void* context, const Result<void>& result) {
                auto& a = *static_cast<Answer*>(context);
                ++a.runs;
                a.result = result;
              },
              &answer});
  EXPECT_EQ(answer.runs, 1) << "done runs exactly once";
  if (taken != nullptr) *taken = group.taken;
  return answer.result;
}

inline Decision take_one(Store& store, const Charge& charge, Instant now) {
  Decision decision;
  const auto result = take_group(store, {&charge, 1}, {&decision, 1}, now);
  EXPECT_TRUE(result) << result.error().text;
  return decision;
}

// A store with one limit, and its shapes.
struct StoreWithLimit {
  StoreWithLimit(const std::string& url, const Limit& limit, Instant since = Instant::min(),
                 WhenFull when_full = WhenFull::share) {
    auto opened = open_any_store(url, when_full);
    if (!opened) throw std::invalid_argument(opened.error().text);
    store = std::move(*opened);
    change(limit, since);
  }
  void change(const Limit& limit, Instant since, std::string_view tier = "") {
    shape = add("limit", limit, since, tier);
  }
  // Another limit in the same store, or other parameters of one that is there.
  ShapeNumber add(std::string_view name, const Limit& limit, Instant since = Instant::min(),
                  std::string_view tier = "", std::uint64_t largest_cost = 1) {
    auto assigned = shapes.assign(name, tier, Algorithm::token_bucket, limit, since, largest_cost);
    if (!assigned) throw std::invalid_argument(assigned.error().text);
    if (auto adopted = store->adopt({&*assigned, 1}); !adopted) {
      throw std::invalid_argument(adopted.error().text);
    }
    return (*assigned)->number;
  }
  Decision apply(Op op, std::uint64_t n, Instant now, Key key = kA, Duration max_wait = {}) {
    return take_one(*store,
                    {.key = key, .amount = n, .max_wait = max_wait, .shape = shape, .op = op}, now);
  }

  Shapes shapes;
  ShapeNumber shape = 0;
  std::unique_ptr<Store> store;
};

// One bucket of one limit.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual Decision take(std::uint64_t n, Instant now) = 0;
  virtual Decision peek(std::uint64_t n, Instant now) = 0;
};

class ObjectSubject final : public Subject {
 public:
  explicit ObjectSubject(const Limit& limit) : bucket_(limit) {}
  Decision take(std::uint64_t n, Instant now) override { return bucket_.take(n, now); }
  Decision peek(std::uint64_t n, Instant now) override { return bucket_.peek(n, now); }

 private:
  TokenBucket bucket_;
};

class LimiterSubject final : public Subject {
 public:
  explicit LimiterSubject(const Limit& limit) : limiter_({.limit = limit, .max_keys = 1000}) {}
  Decision take(std::uint64_t n, Instant now) override { return limiter_.check("user", n, now); }
  Decision peek(std::uint64_t n, Instant now) override { return limiter_.peek("user", n, now); }

 private:
  Limiter limiter_;
};

class StoreSubject final : public Subject {
 public:
  StoreSubject(const std::string& url, const Limit& limit) : store_(url, limit) {}
  Decision take(std::uint64_t n, Instant now) override { return store_.apply(Op::take, n, now); }
  Decision peek(std::uint64_t n, Instant now) override { return store_.apply(Op::peek, n, now); }

 private:
  StoreWithLimit store_;
};

// The names of all subjects: "object", "limiter", and a URL for each registered store.
inline std::vector<std::string> subjects() {
  std::vector<std::string> names{"object", "limiter"};
  for (const StoreKind& kind : registered_stores())
    names.push_back(std::string(kind.scheme) + "://");
  return names;
}

inline std::unique_ptr<Subject> make_subject(const std::string& name, const Limit& limit) {
  if (name == "object") return std::make_unique<ObjectSubject>(limit);
  if (name == "limiter") return std::make_unique<LimiterSubject>(limit);
  return std::make_unique<StoreSubject>(name, limit);
}

// A parameter as a test's name: letters and digits only.
inline std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  }
  return name;
}

// Whole seconds for a header: rounded up, at least 1.
inline std::int64_t header_seconds(Duration wait) {
  return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(wait).count());
}

}  // namespace suimon::test
