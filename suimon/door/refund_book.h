// Which refunds have been made of late, so that the same one is not given back twice.
//
// An id is remembered for 10 minutes, as a 128-bit hash under a key of this run; at most 65,536 of
// them: then no new refund is taken until the oldest is forgotten.
// Thread rule: one thread. Complexity: O(1); memory 3 MiB at most.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <string_view>

#include "suimon/core/identity.h"
#include "suimon/time.h"

namespace suimon::door {

class RefundBook {
 public:
  static constexpr std::size_t kMost = 65'536;
  static constexpr Duration kRemembered = std::chrono::minutes(10);

  enum class Entry : std::uint8_t {
    fresh,      // noted now: the refund is to be made, and settle() to be told
    made,       // was given back already
    under_way,  // is being given back
    full,       // kMost are remembered
  };

  explicit RefundBook(const Secret& secret) : secret_(secret) {}

  // Notes a refund that is about to be made.
  Entry note(std::string_view id, Instant now);

  // A noted refund has ended. One that was not made may be tried again.
  void settle(std::string_view id, bool made);

  // When the oldest id is forgotten. Requires that something is remembered.
  Instant room_at() const { return order_.front().noted + kRemembered; }
  std::size_t size() const { return order_.size(); }

 private:
  struct Noted {
    Key id;
    Instant noted;
    std::uint64_t number;
  };
  struct State {
    std::uint64_t number;  // of its Noted
    bool made = false;
  };
  struct Hash {
    using is_avalanching = void;  // a Key is a keyed hash already
    std::size_t operator()(const Key& key) const { return key.low; }
  };

  void forget(Instant now);

  Secret secret_;
  std::uint64_t numbers_ = 0;
  std::deque<Noted> order_;  // the oldest first; one that was not made leaves its place until then
  boost::unordered_flat_map<Key, State, Hash> states_;
};

}  // namespace suimon::door
