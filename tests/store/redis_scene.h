// A store on Redis whose loop the test turns by hand, and what it answers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "suimon/store/redis.h"
#include "tests/store/redis_server.h"
#include "tests/timeline.h"

namespace suimon::test {

// A store on a loop that the test turns by hand, and what it answered.
// One group on its way.
struct Errand {
  Errand(RedisStore& store, std::vector<Charge> wanted, Instant now = {})
      : charges(std::move(wanted)), decisions(charges.size()), group{charges, decisions} {
    store.take({&group, 1}, now,
               {[](void* context, const Result<void>& its) {
                  auto& errand = *static_cast<Errand*>(context);
                  EXPECT_FALSE(errand.heard) << "done runs exactly once";
                  errand.heard = true;
                  errand.result = its;
                },
                this});
  }
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;

  std::vector<Charge> charges;
  std::vector<Decision> decisions;
  Group group;
  bool heard = false;
  Result<void> result;
};

struct RedisScene {
  explicit RedisScene(const RedisOptions& options = {}, Duration timeout = std::chrono::seconds(5))
      : store(loop, servers_on(loop, timeout), options) {}
  // With something between the store and its server.
  using Between = std::unique_ptr<redis::Servers> (*)(net::Loop&, std::unique_ptr<redis::Servers>);
  RedisScene(const RedisOptions& options, Between between)
      : store(loop, between(loop, servers_on(loop, std::chrono::seconds(5))), options) {}

  ShapeNumber add(std::string_view name, const Limit& limit, Instant since = Instant::min(),
                  std::string_view tier = "") {
    const Shape* shape = *shapes.assign(name, tier, Algorithm::token_bucket, limit, since);
    EXPECT_TRUE(store.adopt({&shape, 1}));
    return shape->number;
  }
  void finish(const Errand& errand) {
    while (!errand.heard) loop.poll_once(1000);
  }
  // Decides one group. False when it is refused.
  bool take(const std::vector<Charge>& charges, std::vector<Decision>* decisions = nullptr) {
    Errand errand(store, charges);
    finish(errand);
    EXPECT_TRUE(errand.result) << errand.result.error().text;
    if (decisions != nullptr) *decisions = errand.decisions;
    return errand.group.taken;
  }
  Decision apply(Op op, std::uint64_t n, ShapeNumber shape, Key key = {1, 2}) {
    std::vector<Decision> decisions;
    take({{.key = key, .amount = n, .shape = shape, .op = op}}, &decisions);
    return decisions[0];
  }

  BootClock clock;
  net::Loop loop{clock};
  Shapes shapes;
  RedisStore store;
};

}  // namespace suimon::test
