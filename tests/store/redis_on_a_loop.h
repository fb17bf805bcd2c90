// The store on Redis for whoever calls from any thread and waits: on a loop of its own, with keys
// of its own in the program's redis-server, deciding by the callers' clock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "suimon/store/redis.h"
#include "tests/store/redis_server.h"

namespace suimon::test {

class RedisOnALoop final : public Store {
 public:
  RedisOnALoop() : prefix_("t" + std::to_string(next_number()) + ":") {
    RedisOptions options;
    options.prefix = prefix_;
    options.timeout = std::chrono::seconds(30);
    options.clock = RedisOptions::Clock::caller;
    store_ = std::make_unique<RedisStore>(loop_, servers_on(loop_, options.timeout), options);
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~RedisOnALoop() override {
    loop_.stop();
    thread_.join();
    EXPECT_EQ(store_->counted().errors(), 0u);
  }

  std::string_view name() const override { return store_->name(); }
  Result<void> adopt(std::span<const Shape* const> shapes) override {
    return store_->adopt(shapes);
  }
  void take(std::span<Group> groups, Instant now, Done done) override {
    struct Wait {
      std::mutex mutex;
      std::condition_variable heard;
      bool over = false;
      Result<void> result;
    } wait;
    const auto on_done = [](void* context, const Result<void>& result) {
      auto& its = *static_cast<Wait*>(context);
      const std::lock_guard lock(its.mutex);
      EXPECT_FALSE(its.over) << "done runs exactly once";
      its.result = result;
      its.over = true;
      its.heard.notify_one();
    };
    EXPECT_TRUE(loop_.post([&] { store_->take(groups, now, {on_done, &wait}); }));
    std::unique_lock lock(wait.mutex);
    wait.heard.wait(lock, [&] { return wait.over; });
    lock.unlock();
    done.run(done.context, wait.result);
  }
  // Of this store, counted by asking the server.
  StoreFigures figures() const override {
    StoreFigures figures;
    figures.entries =
        static_cast<std::uint64_t>(RedisServer::get()->number({"KEYS", prefix_ + "*"}));
    return figures;
  }
  bool convert_replaced() override { return store_->convert_replaced(); }
  void forget(std::span<const Shape* const> shapes) override { store_->forget(shapes); }

 private:
  static unsigned next_number() {
    static std::atomic<unsigned> last{0};
    return ++last;
  }

  std::string prefix_;
  BootClock clock_;
  net::Loop loop_{clock_};
  std::unique_ptr<RedisStore> store_;
  std::thread thread_;
};

}  // namespace suimon::test
