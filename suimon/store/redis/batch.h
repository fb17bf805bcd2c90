// One call of take.lua: groups of charges on the keys of one shard, what is sent for them, and what
// the answer means.
//
// The script says the records from which it started, and which groups it took. Everything else is
// decided here once more, by the core, from the same start: so nothing but records travels back,
// and both sides watch each other. Thread rule: one thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/core/joint.h"
#include "suimon/store/redis/lineage.h"
#include "suimon/store/redis/record.h"
#include "suimon/store/redis/servers.h"
#include "suimon/store/store.h"

namespace suimon::redis {

// Some charges of one group: those whose keys lie in one shard.
struct Part {
  Group* group = nullptr;
  std::uint16_t mask = 0;  // which charges
  bool look = false;       // nothing is taken, whatever they ask for
};

// A record to be replaced if it is still what is expected here, byte for byte but for its expiry;
// empty: none.
struct Patch {
  Key key;
  std::string expected;
  std::string replacement;
  // Else, if there is something in it: what a take has left of itself flows back.
  std::string back;
};
std::string flowing_back(Instant taken_at, const detail::Scale& scale, detail::uint128 units);

class Batch {
 public:
  static constexpr std::size_t kMostCharges = 256;
  static constexpr std::size_t kMostPatches = 64;

  struct Clock {
    bool callers = false;  // else the server's
    Instant now;
  };

  // `name` stands before every key's own.
  void begin(std::string_view name, const Clock& clock);
  // Whether charges for `charges` keys more have a place.
  bool has_room(std::size_t charges) const {
    return charges_.size() + charges <= kMostCharges && keys_.size() + charges <= kMostCharges;
  }
  void add(const Part& part, const Lineage& lineage);
  bool has_room_for_patch() const { return patches_ < kMostPatches && keys_.size() < kMostCharges; }
  void add(const Patch& patch);
  bool empty() const { return parts_.empty() && patches_ == 0; }
  // Whether it is about no other key so far.
  bool only(const Key& key) const {
    return keys_.empty() || (keys_.size() == 1 && keys_.front() == key);
  }
  std::size_t parts() const { return parts_.size(); }
  std::size_t charges() const { return charges_.size(); }

  // What the script is told. Views into this, until begin().
  void finish();
  std::span<const std::string_view> keys() const { return key_views_; }
  std::span<const std::string_view> arguments() const { return argument_views_; }

  // Takes over the script's answer. False when it is none.
  bool read(const Value& answer);
  Instant at() const { return at_; }

  enum class Word : char { refused = '0', taken = '1', undecided = '?' };
  Word word(std::size_t part) const { return static_cast<Word>(words_[part]); }

  using Account = suimon::Account<Ledger, TierView>;
  using Accounts = std::array<Account, suimon::kMostCharges>;
  // Decides the next part, in order; fills in an account for each of its charges, in order, and
  // keeps what the script keeps. True when every charge is admitted.
  bool decide(std::size_t part, Accounts& accounts);

  // For an undecided part: the records that must be converted first. Requires mapped limits.
  void convert(std::size_t part, std::vector<Patch>& patches) const;

  // The record of a key of this batch, as it stands after the parts that were decided so far; empty
  // for none.
  std::string record(const Key& key) const;

 private:
  struct State {
    Record record;
    bool present = false;
    bool dirty = false;  // written by this batch
  };
  struct Ask {
    const Tier* tier;  // which; what it says is read once, into terms_
    Op op;
    std::uint64_t amount;
    Duration max_wait;
    friend bool operator==(const Ask&, const Ask&) = default;
  };
  struct Placed {  // a charge
    std::uint8_t key;
    std::uint8_t ask;
    bool last;
    bool first;
  };

  std::size_t place(const Key& key);
  std::size_t find(const Key& key) const;
  std::uint8_t ask(const Ask& wanted);
  void append_ask(const Ask& ask, const Terms& terms);
  // Of the charge at this place of charges_.
  Account account(const Charge& charge, std::size_t at) const;

  Clock clock_;
  std::string_view name_;
  std::vector<Part> parts_;
  std::vector<const Tier*> tiers_;   // of charges_
  std::vector<std::size_t> begins_;  // of parts_, in charges_
  std::vector<Placed> charges_;
  std::vector<Key> keys_;
  std::vector<std::uint8_t> touches_;       // of keys_, up to 2
  std::array<std::uint16_t, 512> index_{};  // of keys_, plus one
  std::vector<Ask> asks_;
  std::vector<Terms> terms_;  // of asks_, as they are sent
  std::string ask_text_;
  std::string key_text_;
  std::string packed_;
  std::vector<std::string> patch_text_;  // four each; room is kept
  std::size_t patches_ = 0;
  std::vector<std::string_view> key_views_;
  std::vector<std::string_view> argument_views_;

  Instant at_;
  std::string words_;
  std::vector<std::string> found_;
  std::vector<State> states_;
};

}  // namespace suimon::redis
