// redis:// and its kin, as THE LIST opens them: a store with connections of its own on each event
// loop, and a table in memory that decides while the servers do not answer.
//
// Thread rule: on() before its loop runs; the rest by any thread.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "suimon/store/redis.h"
#include "suimon/store/redis/url.h"
#include "suimon/store/stores.h"

namespace suimon {

class RedisStores final : public Store {
 public:
  static Result<void> check(std::string_view url);
  static Result<std::unique_ptr<Store>> open(std::string_view url, const StoreOptions& options);

  RedisStores(redis::Url url, std::unique_ptr<Store> local, const StoreOptions& options);
  ~RedisStores() override;

  std::string_view name() const override { return "redis"; }
  Result<void> adopt(std::span<const Shape* const> shapes) override;
  // Decides nothing: only on() does.
  void take(std::span<Group> groups, Instant now, Done done) override;
  // Of the table in memory; of the servers' records there is no count.
  StoreFigures figures() const override { return local_->figures(); }
  std::optional<RemoteFigures> remote_figures() const override;
  Store& on(net::Loop& loop) override;
  void leave(net::Loop& loop) override;
  Store* fallback() override { return local_.get(); }
  bool convert_replaced() override { return local_->convert_replaced(); }
  void forget(std::span<const Shape* const> shapes) override;

 private:
  class OnLoop;

  const redis::Url url_;
  const std::unique_ptr<Store> local_;
  const StoreOptions options_;
  mutable std::mutex mutex_;
  std::vector<const Shape*> shapes_;  // all that were adopted and not forgotten, for later loops
  std::vector<std::unique_ptr<OnLoop>> stores_;
};

}  // namespace suimon
