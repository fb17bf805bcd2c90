// Shapes: which limit, with which parameters, a piece of state is expressed in.
//
// A shape is the parameters of one limit for one tier; its number (14 bits) stands in every charge
// and beside every state, so state always knows how to read itself. When a reload changes a limit's
// parameters, the limit gets a new shape, the old one names it as its successor from that instant
// on, and stores convert state when they next touch it. An unchanged limit keeps its shape, and
// with it its state. A number is given again only to the limit and tier that had it, and only when
// nothing refers to what it meant before: see release().
//
// Thread rule: assign(), unchanged(), replaced() and release() are for one thread at a time (the
// one that loads policies); everything else may be called by any thread. A Shape lives, and keeps
// its address, its limit and its number, as long as its registry.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "suimon/core/algorithms.h"
#include "suimon/core/charge.h"
#include "suimon/limit.h"
#include "suimon/result.h"

namespace suimon {

struct Shape {
  std::string limit;  // the limit's name, with its domain
  std::string tier;   // "" for a limit without tiers
  Algorithm algorithm = Algorithm::token_bucket;
  Limit parameters;
  detail::Scale exact;  // for stores with wide state
  detail::Scale word;   // for stores that keep one 64-bit word
  ShapeNumber number = 0;
  Instant since;                       // when these parameters came into force
  const Shape* predecessor = nullptr;  // what they replaced
  // The most tokens that one request of the limit may cost: who could not pay that is limited.
  mutable std::atomic<std::uint64_t> largest_cost{1};
  std::atomic<const Shape*> successor{nullptr};  // what replaced them, once something has

  // The shape in force: this one, or the end of the chain of its successors.
  const Shape& newest() const {
    const Shape* shape = this;
    while (const Shape* next = shape->successor.load(std::memory_order_acquire)) shape = next;
    return *shape;
  }
};

// A shape as the holder of ledgers sees it (core/joint.h).
struct LedgerView {
  const Shape* shape = nullptr;

  Algorithm algorithm() const { return shape->algorithm; }
  const detail::Scale& scale() const { return shape->exact; }
  Instant since() const { return shape->since; }
  LedgerView next() const { return {shape->successor.load(std::memory_order_acquire)}; }
  explicit operator bool() const { return shape != nullptr; }
  friend bool operator==(LedgerView, LedgerView) = default;
};

class Shapes {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 14;

  // The shape of these parameters: the one in force for (limit, tier) if they are the same, else
  // a new one that succeeds it. Fails for parameters that validate() refuses, and when none of the
  // 16,384 numbers is left. `largest_cost` is no parameter: it may change and the shape stays.
  Result<const Shape*> assign(std::string_view limit, std::string_view tier, Algorithm algorithm,
                              const Limit& parameters, Instant now, std::uint64_t largest_cost = 1);

  // The shape in force for (limit, tier), if its parameters are these: what assign() would return
  // without giving a number. Null when there is none. For the thread that assigns.
  const Shape* unchanged(std::string_view limit, std::string_view tier, Algorithm algorithm,
                         const Limit& parameters) const;

  // Whether assign() would need a number that nobody has had yet. For the thread that assigns.
  bool needs_new_number(std::string_view limit, std::string_view tier, Algorithm algorithm,
                        const Limit& parameters) const;

  // All shapes that others have replaced.
  std::vector<const Shape*> replaced() const;

  // Frees the numbers of what replaced() has returned, all of it. Requires that nothing refers to
  // these shapes any more: no state of a store, no charge, and no thread that has read one of both.
  void release(std::span<const Shape* const> shapes);

  // Gives a shape that nothing has replaced, and that replaced nothing, other parameters, which
  // validate() takes. Requires that no charge, no state that owes anything and no thread refers to
  // it. For the thread that assigns.
  void restate(const Shape& shape, const Limit& parameters, Instant now);

  // Requires a number that assign() has given.
  const Shape& operator[](ShapeNumber number) const {
    return *shapes_[number].load(std::memory_order_acquire);
  }

  // How many numbers have been given at least once: all that operator[] takes. Any thread.
  std::size_t size() const { return size_.load(std::memory_order_acquire); }
  // How many of them are not free. Any thread.
  std::size_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  using Name = std::pair<std::string, std::string>;  // limit and tier

  Shape* in_force(std::string_view limit, std::string_view tier) const;
  Shape* fresh(const Name& name);

  std::array<std::atomic<const Shape*>, kMost> shapes_{};
  std::atomic<std::size_t> size_{0};
  std::vector<std::unique_ptr<Shape>> owned_;
  std::atomic<std::size_t> used_{0};
  std::map<Name, Shape*> names_;              // in force
  std::map<Name, std::vector<Shape*>> free_;  // released
};

}  // namespace suimon
