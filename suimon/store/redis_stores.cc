#include "suimon/store/redis_stores.h"

#include <algorithm>
#include <utility>

#include "suimon/store/memory.h"
#include "suimon/store/redis/open.h"

namespace suimon {
namespace {

// Of the table that decides while no server does.
constexpr std::uint64_t kLocalKeys = 1'000'000;

// In the place of servers that cannot even be tried, because a file that the URL names has gone
// bad since it was read first.
class NoServers final : public redis::Servers {
 public:
  NoServers(net::Loop& loop, std::string why) : loop_(loop), why_(std::move(why)) {}
  void run(std::uint16_t, const redis::Script&, std::span<const std::string_view>,
           std::span<const std::string_view>, redis::Heard heard) override {
    loop_.post([this, heard] {
      const redis::Value value{
          .type = redis::Value::Type::error, .integer = 0, .text = why_, .elements = {}};
      heard.run(heard.context, redis::Fate::not_run, value);
    });
  }
  bool clustered() const override { return false; }
  const redis::Counters& counters() const override { return counters_; }

 private:
  net::Loop& loop_;
  std::string why_;
  redis::Counters counters_;
};

RedisOptions options_of(const redis::Url& url, const StoreOptions& options) {
  RedisOptions its;
  its.prefix = url.prefix;
  its.shards = url.kind == redis::Url::Kind::cluster ? url.shards : 0;
  its.timeout = url.timeout;
  its.complain = options.complain;
  return its;
}

}  // namespace

// The store of one loop. What it cannot decide, the table in memory does.
class RedisStores::OnLoop final : public Store {
 public:
  OnLoop(net::Loop& loop, std::unique_ptr<redis::Servers> servers, const RedisOptions& options,
         Store& local)
      : loop_(loop), store_(loop, std::move(servers), options), local_(local) {}

  std::string_view name() const override { return store_.name(); }
  Result<void> adopt(std::span<const Shape* const> shapes) override { return store_.adopt(shapes); }
  void take(std::span<Group> groups, Instant now, Done done) override {
    store_.take(groups, now, done);
  }
  StoreFigures figures() const override { return store_.figures(); }
  Store* fallback() override { return &local_; }
  void forget(std::span<const Shape* const> shapes) override { store_.forget(shapes); }

  const RedisStore& store() const { return store_; }
  bool is_of(const net::Loop& loop) const { return &loop == &loop_; }

 private:
  const net::Loop& loop_;
  RedisStore store_;
  Store& local_;
};

Result<void> RedisStores::check(std::string_view url) {
  const auto read = redis::parse_url(url);
  return read ? Result<void>{} : tl::unexpected(read.error());
}

Result<std::unique_ptr<Store>> RedisStores::open(std::string_view url,
                                                 const StoreOptions& options) {
  auto read = redis::parse_url(url);
  if (!read) return tl::unexpected(read.error());
  if (!options.password.empty()) {
    read->password = options.password;
    read->password_file.clear();
  }
  auto local = MemoryStore::open({.max_keys = kLocalKeys, .when_full = options.when_full});
  if (!local) return tl::unexpected(local.error());
  return std::make_unique<RedisStores>(std::move(*read), std::move(*local), options);
}

RedisStores::RedisStores(redis::Url url, std::unique_ptr<Store> local, const StoreOptions& options)
    : url_(std::move(url)), local_(std::move(local)), options_(options) {}

RedisStores::~RedisStores() = default;

Result<void> RedisStores::adopt(std::span<const Shape* const> shapes) {
  if (auto adopted = local_->adopt(shapes); !adopted) return adopted;
  const std::lock_guard lock(mutex_);
  for (const Shape* shape : shapes) {
    if (std::find(shapes_.begin(), shapes_.end(), shape) == shapes_.end()) shapes_.push_back(shape);
  }
  for (const auto& store : stores_) {
    if (auto adopted = store->adopt(shapes); !adopted) return adopted;
  }
  return {};
}

void RedisStores::take(std::span<Group> groups, Instant, Done done) {
  for (Group& group : groups) group.failed = true;
  done.run(done.context, failure("redis: a loop decides by connections of its own"));
}

Store& RedisStores::on(net::Loop& loop) {
  auto servers = redis::open_servers(url_, loop);
  if (!servers) {
    if (options_.complain) options_.complain(servers.error().text);
    servers = std::make_unique<NoServers>(loop, servers.error().text);
  }
  const std::lock_guard lock(mutex_);
  OnLoop& store = *stores_.emplace_back(
      std::make_unique<OnLoop>(loop, std::move(*servers), options_of(url_, options_), *local_));
  if (!shapes_.empty() && !store.adopt(shapes_) && options_.complain) {
    options_.complain("redis: a loop does not know all limits");
  }
  return store;
}

void RedisStores::leave(net::Loop& loop) {
  std::vector<std::unique_ptr<OnLoop>> left;  // told of their end without the lock
  {
    const std::lock_guard lock(mutex_);
    for (auto& store : stores_) {
      if (store->is_of(loop)) left.push_back(std::move(store));
    }
    std::erase(stores_, nullptr);
  }
}

void RedisStores::forget(std::span<const Shape* const> shapes) {
  local_->forget(shapes);
  const std::lock_guard lock(mutex_);
  for (const auto& store : stores_) store->forget(shapes);
  std::erase_if(shapes_, [&](const Shape* shape) {
    return std::find(shapes.begin(), shapes.end(), shape) != shapes.end();
  });
}

std::optional<RemoteFigures> RedisStores::remote_figures() const {
  RemoteFigures all;
  std::uint64_t decided = 0, given_back = 0, converted = 0, no_place = 0, not_sent = 0, not_run = 0,
                unknown = 0, bad = 0, disputed = 0, connects = 0, losses = 0, timeouts = 0,
                redirects = 0, loads = 0;
  const std::lock_guard lock(mutex_);
  for (const auto& loop : stores_) {
    const redis::Figures& its = loop->store().counted();
    static_assert(redis::RoundTrips::kBounds.size() == RemoteFigures::kBounds.size());
    for (std::size_t i = 0; i <= RemoteFigures::kBounds.size(); ++i) {
      all.round_trips[i] += its.round_trips.in_bucket(i);
    }
    all.round_trips_ns += its.round_trips.sum_ns();
    all.errors += its.errors();
    decided += its.groups.value();
    given_back += its.given_back.value();
    converted += its.conversions.value();
    no_place += its.no_place.value();
    not_sent += its.not_sent.value();
    not_run += its.not_run.value();
    unknown += its.unknown.value();
    bad += its.bad_answer.value();
    disputed += its.disputed.value();
    const redis::Counters& servers = loop->store().servers();
    connects += servers.connects.load(std::memory_order_relaxed);
    losses += servers.failures.load(std::memory_order_relaxed);
    timeouts += servers.timeouts.load(std::memory_order_relaxed);
    redirects += servers.redirects.load(std::memory_order_relaxed);
    loads += servers.script_loads.load(std::memory_order_relaxed);
    all.unavailable += servers.breakers_open.load(std::memory_order_relaxed);
  }
  all.events = {{"decided", decided},      {"given_back", given_back}, {"converted", converted},
                {"no_place", no_place},    {"not_sent", not_sent},     {"not_run", not_run},
                {"unknown", unknown},      {"bad_answer", bad},        {"disputed", disputed},
                {"connected", connects},   {"disconnected", losses},   {"timed_out", timeouts},
                {"redirected", redirects}, {"script_loaded", loads}};
  return all;
}

}  // namespace suimon
