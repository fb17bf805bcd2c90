// The table that programs use: BasicTable over this machine's steps, in memory of its own.
//
// Thread rule: any thread may call take() at any time; adopt() is for one thread at a time. No call
// locks, allocates or enters the system, except a thread's first, which takes a number. Complexity:
// O(1) a charge: at most twelve slots are looked at. Protocol, hazards and cures: basic_table.h,
// cures.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "suimon/core/shapes.h"
#include "suimon/result.h"
#include "suimon/table/basic_table.h"
#include "suimon/table/region.h"
#include "suimon/table/steps.h"

namespace suimon::table {

struct Figures {
  std::uint64_t entries = 0;    // slots that hold a key
  std::uint64_t evictions = 0;  // states that owed something and had to go
  std::uint64_t forgiven = 0;   // tokens that they owed
  std::uint64_t overflows = 0;  // charges to overflow buckets
  std::uint64_t aborts = 0;     // decisions over several states that rivals broke: they began again
};

class Table {
 public:
  struct Options {
    std::uint64_t keys = 1'000'000;  // that are to have state at once; 24 bytes each
    std::uint32_t shapes = Shapes::kMost;
    std::uint32_t descriptors = 320;  // decisions over several states under way at once
    bool shared = false;              // forked processes share it, instead of copying it
    WhenFull when_full = WhenFull::share;
  };

  // Fails when the system has not the memory.
  static Result<Table> make(const Options& options);

  // Makes shapes known, and what they replaced. Must run before charges of a shape come. Fails when
  // a shape's number is above what the table was made for.
  Result<void> adopt(std::span<const Shape* const> shapes);

  // Rewrites every state of a shape that was replaced in the newest one, while decisions go on.
  // Requires that no charge of a replaced shape is being decided or still comes. For the thread
  // that adopts. O(slots).
  void convert_replaced() { basic_.convert_replaced(); }
  // Lets these shapes, replaced and converted, be adopted anew with other parameters. Requires that
  // every decision that was under way during convert_replaced() is over.
  void forget(std::span<const Shape* const> shapes);

  // Decides the charges of one request as of `now`, all or none; true when all were admitted.
  bool take(std::span<const Charge> charges, std::span<Decision> decisions, Instant now) {
    return basic_.take(charges, decisions, now);
  }
  // The same for one charge that takes, in two steps: what stands between them hides the time that
  // memory takes. `front` is prepare(key.low).
  [[gnu::always_inline]] Front prepare(std::uint64_t low) const { return basic_.prepare(low); }
  Front prepare_many(std::uint64_t low) const { return basic_.prepare_many(low); }  // of many keys
  [[gnu::always_inline]] Decision take(const Key& key, const Front& front, ShapeNumber number,
                                       std::uint64_t amount, Instant now) {
    const ShapeView shape = basic_.newest(number);
    detail::Taken taken;
    auto quick = basic_.take_quickly(front, fingerprint_of(key), shape, amount, now, taken);
    using Quick = decltype(quick);
    if (quick == Quick::granted) [[likely]] {
      return {Outcome::allowed, shape.scale(), now, taken.debt, amount, amount};
    }
    if (quick == Quick::refused) {
      return {Outcome::limited, shape.scale(), now, taken.debt, amount, 0};
    }
    return take_one({.key = key, .amount = amount, .shape = number}, now);
  }
  Decision take_one(const Charge& charge, Instant now);

  Figures figures() const;
  // The whole region, for tests that compare it.
  std::span<const std::byte> bytes() const { return region_.bytes(); }

 private:
  Table(Region region, const Size& size, WhenFull when_full);
  Result<void> adopt_one(const Shape& shape);

  Region region_;
  Memory memory_;
  BasicTable<RealSteps> basic_;
  std::unordered_map<std::string, std::uint16_t> own_places_;  // of each limit, by its name
};

}  // namespace suimon::table
