// Which keys are refused most, on one event loop: a sketch of bounded size.
//
// Space-Saving (Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k
// elements in data streams", 2005) in sets: a key belongs to one set of 16 entries; a newcomer to a
// full set takes the place, and the count, of the smallest. So a count is never too small, and
// what it may be too large by is known. A count is halved for every full minute since its
// entry was taken, when somebody next touches or reads it: there is no timer. Memory: 1,024
// entries, 56 KiB.
//
// Thread rule: add() by the loop's thread alone; each() by any thread, without a lock: an entry
// that is just being changed is read again, or left out when it keeps changing.
// Complexity: add() looks at 16 entries, and is called for refusals only.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "suimon/core/charge.h"
#include "suimon/time.h"

namespace suimon {

// One key and how often it was refused of late.
struct TopKey {
  Key key;
  ShapeNumber shape = 0;       // of the latest refusal; it names the limit
  std::uint64_t at_least = 0;  // refusals, each counted half for every minute since
  std::uint64_t at_most = 0;
};

class TopKeys {
 public:
  static constexpr std::size_t kSets = 64;
  static constexpr std::size_t kWays = 16;

  // `key` was refused at `now`.
  void add(ShapeNumber shape, const Key& key, Instant now);

  // Calls `use` with every TopKey that is left at `now`.
  template <class Use>
  void each(Instant now, Use&& use) const {
    const std::uint32_t second = second_of(now);
    for (const Entry& entry : entries_) {
      if (const TopKey found = entry.read(second); found.at_most != 0) use(found);
    }
  }

 private:
  // The version is odd while the writer is at work (a sequence lock with one writer).
  struct Entry {
    std::atomic<std::uint64_t> high{0};
    std::atomic<std::uint64_t> low{0};
    std::atomic<std::uint64_t> count{0};   // 0: nobody is here
    std::atomic<std::uint64_t> excess{0};  // what of the count may be another key's
    std::atomic<std::uint32_t> version{0};
    std::atomic<std::uint32_t> since{0};  // the second as of which the count is
    std::atomic<ShapeNumber> shape{0};

    TopKey read(std::uint32_t second) const;
    bool holds(const Key& key) const;
    std::uint64_t count_at(std::uint32_t second) const;
    void write(ShapeNumber shape, const Key& key, std::uint64_t count, std::uint64_t excess,
               std::uint32_t since);
  };

  static std::uint32_t second_of(Instant now);

  std::array<Entry, kSets * kWays> entries_;
};

}  // namespace suimon
