// The reference store: a plain sharded map of exact ledgers, in this process.
//
// Exact at every rate and without a horizon: replay decides with it and every other store is
// compared with it. It locks a shard per charge (groups lock theirs in one order), which is what
// makes it plain rather than fast.
//
// Bound: at most max_keys states. Where a shard has no room, entries that are full again are
// dropped (they equal an absent one). When all of its entries still owe something, nobody is
// pardoned: a newcomer is charged to its limit's one overflow bucket, and that is counted.
// "Full again" is judged a look at a time, so up to kLook entries are inspected per insertion.
#pragma once

#include <array>
#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <mutex>
#include <vector>

#include "suimon/core/joint.h"
#include "suimon/core/when_full.h"
#include "suimon/store/store.h"

namespace suimon {

class ReferenceStore final : public Store {
 public:
  struct Options {
    std::uint64_t max_keys = 1'000'000;  // 1 to 2^32
    unsigned shards = 64;                // rounded down to a power of two; fewer for few keys
    WhenFull when_full = WhenFull::share;
  };

  explicit ReferenceStore(const Options& options);

  std::string_view name() const override { return "reference"; }
  Result<void> adopt(std::span<const Shape* const> shapes) override;
  void take(std::span<Group> groups, Instant now, Done done) override;
  StoreFigures figures() const override;
  bool carries_over() const override { return true; }
  bool convert_replaced() override;

 private:
  struct Entry {
    Key key;
    Ledger ledger;
    Instant full_at;  // from here on the entry equals an absent one
    const Shape* shape = nullptr;
  };
  struct KeyHash {
    using is_avalanching = void;  // a Key is a keyed hash already
    std::size_t operator()(const Key& key) const { return key.low; }
  };
  struct Shard {
    std::mutex mutex;
    std::vector<Entry> entries;
    boost::unordered_flat_map<Key, std::uint32_t, KeyHash> index;
    std::uint32_t hand = 0;            // where the next look for dead entries begins
    Instant horizon = Instant::min();  // no entry that was dropped was full later than this
  };
  struct Place;
  using Account = suimon::Account<Ledger, LedgerView>;

  static constexpr std::uint32_t kLook = 64;

  Shard& shard_of(const Key& key) { return shards_[key.high & shard_mask_]; }
  void take_group(Group& group, Instant now);
  const Shape* shape_of(const Charge& charge) const;
  void settle_on_key(Place& place);
  bool has_place(const Place& place, std::span<const Place> earlier, Instant now);
  bool make_room(Shard& shard, Instant now);
  static Instant full_again(Entry& entry);
  static Instant full_at(const Ledger& ledger, LedgerView shape);
  void drop(Shard& shard, std::uint32_t at);
  static void take_out(Shard& shard, std::uint32_t at);
  Account open(Place& place, Instant now);
  void keep(const Place& place, const Account& account);

  const WhenFull when_full_;
  std::uint64_t shard_mask_;
  std::uint64_t keys_per_shard_;
  std::vector<Shard> shards_;
  Shard overflow_;  // one entry a limit; always locked last
  std::unique_ptr<std::array<std::atomic<const Shape*>, Shapes::kMost>> shapes_;
  std::atomic<std::uint64_t> entries_{0};
  std::atomic<std::uint64_t> overflows_{0};
};

}  // namespace suimon
