// The store on Redis or Valkey: exact ledgers on the server's clock, decided there by one script.
//
// Whatever comes while a round trip is under way leaves together in the next one. In a cluster keys
// are spread over shards, each with its own batches; a group with keys in several is taken shard by
// shard and given back where a later one refuses (docs/stores.md, docs/bounds.md). So is, key by
// key, a group whose slot is on the move, when its keys are in two places.
// A call whose outcome is unknown counts as spent and is never sent again.
//
// Thread rule: one store per event loop, used on its thread; adopt(), convert_replaced(), forget()
// and figures() may be called by any thread. `done` runs on the loop's thread: within take() when
// there is nothing to decide or no place, else later. It must not destroy the store. It hears an
// Error when no group could be decided; of some the others say that they failed.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/base/pool.h"
#include "suimon/net/loop.h"
#include "suimon/store/redis/alarm.h"
#include "suimon/store/redis/batch.h"
#include "suimon/store/redis/figures.h"
#include "suimon/store/redis/lineage.h"
#include "suimon/store/redis/servers.h"
#include "suimon/store/redis/shards.h"
#include "suimon/store/redis/spread.h"
#include "suimon/store/store.h"

namespace suimon {

struct RedisOptions {
  enum class Clock : std::uint8_t {
    server,  // the server's own; instants that callers bring decide nothing
    caller,  // for tests: `now` travels along, and records live an hour longer
  };

  std::string prefix = "suimon:";  // of every key
  unsigned shards = 0;             // 0: 1 for a single server, 64 for a cluster. At most 1024
  Duration timeout = std::chrono::milliseconds(50);      // for waiting; for an answer, see Servers
  std::size_t max_waiting = 65'536;                      // groups that wait to be sent
  std::size_t max_charges = redis::Batch::kMostCharges;  // in a batch, 16 to 256
  Clock clock = Clock::server;
  // Told what an operator should know: a dispute over arithmetic, a failure and its end.
  std::function<void(std::string_view)> complain = {};
};

class RedisStore final : public Store {
 public:
  // Servers must belong to the same loop, which outlives the store.
  RedisStore(net::Loop& loop, std::unique_ptr<redis::Servers> servers, const RedisOptions& options);
  ~RedisStore() override;

  std::string_view name() const override { return "redis"; }
  Result<void> adopt(std::span<const Shape* const> shapes) override;
  void take(std::span<Group> groups, Instant now, Done done) override;
  // Nobody counts the records of a server: all zero.
  StoreFigures figures() const override { return {}; }
  // Records say themselves how they are to be read.
  bool convert_replaced() override { return true; }

  const redis::Figures& counted() const { return figures_; }
  const redis::Counters& servers() const { return servers_->counters(); }

  // Groups that wait to be sent now.
  std::size_t waiting() const { return waiting_; }

 private:
  using Take = redis::Take;
  using Waiting = redis::Waiting;
  using Spread = redis::Spread;
  using Account = redis::Batch::Account;

  // Of keys with one hash tag: at most one batch under way.
  struct Shard {
    RedisStore* store = nullptr;
    std::string name;  // the beginning of its keys
    std::uint16_t slot = 0;
    bool under_way = false;
    std::deque<Waiting> queue;
    std::vector<redis::Patch> patches;  // for the next batch; before them those under way:
    std::size_t patches_sent = 0;
    std::vector<Waiting> sent;  // the parts of the batch under way
    std::unique_ptr<redis::Batch> batch;
    Instant sent_at;
    Instant narrow_until = Instant::min();  // its slot is on the move: a key in a batch, or a group
  };

  static constexpr unsigned kMostTries = 8;
  static constexpr Duration kNarrowFor = std::chrono::milliseconds(100);
  static constexpr Duration kTellEvery = std::chrono::seconds(5);
  static constexpr std::size_t kMostPatches = 4'096;  // that wait, of one shard

  void enqueue(Group& group, Take& take, Instant now);
  void put(Shard& shard, const Waiting& waiting);
  void flush();
  void send(Shard& shard);
  bool fits(const Shard& shard, const Waiting& waiting) const;
  void expire();
  static void heard(void* context, redis::Fate fate, const redis::Value& value);
  void on_answer(Shard& shard, redis::Fate fate, const redis::Value& value);
  void on_words(Shard& shard);
  bool narrow(Shard& shard);
  void split(Waiting& waiting);
  void told(bool well, std::string_view text);
  void try_again(Shard& shard, std::size_t part);
  void decide(Shard& shard, std::size_t part);
  void decide_step(Shard& shard, std::size_t part);
  void dispute(const Waiting& waiting);
  void step_on(Spread& spread);
  void take_back(Spread& spread);
  void fail(const Waiting& waiting, std::string_view why, redis::Count& count);
  void finish(Take& take, std::string_view error);

  net::Loop& loop_;
  std::unique_ptr<redis::Servers> servers_;
  RedisOptions options_;
  redis::Lineage lineage_;
  redis::Figures figures_;
  std::deque<Shard> shards_;  // which do not move
  Pool<Take> takes_;
  Pool<Spread> spreads_;
  std::vector<Waiting> again_;  // of the answer that is being read: to be decided again
  redis::Batch::Accounts accounts_;
  std::size_t waiting_ = 0;
  Duration offset_{0};  // from the loop's clock to the store's
  bool offset_known_ = false;
  bool well_ = true;  // as operators were told last
  Instant tell_again_ = Instant::min();
  Instant dispute_again_ = Instant::min();
  redis::Alarm<RedisStore, &RedisStore::flush> flush_;
  redis::Alarm<RedisStore, &RedisStore::expire> expire_;
};

}  // namespace suimon
