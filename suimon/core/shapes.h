// Shapes: which limit, with which parameters, a piece of state is expressed in.
//
// A shape is the parameters of one limit for one tier; its number (14 bits) stands in every charge
// and beside every state. A number is given once and never reused while the process lives, so
// state always knows how to read itself. When a reload changes a limit's parameters, the limit
// gets a new shape, the old one names it as its successor from that instant on, and stores convert
// state when they next touch it. An unchanged limit keeps its shape, and with it its state.
//
// Thread rule: assign() is for one thread at a time (the one that loads policies); everything
// else may be called by any thread. A Shape lives, and keeps its address, as long as its registry.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
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
  // a new one that succeeds it. Fails for parameters that validate() refuses, and when all 16,384
  // numbers have been given. `largest_cost` is no parameter: it may change and the shape stays.
  Result<const Shape*> assign(std::string_view limit, std::string_view tier, Algorithm algorithm,
                              const Limit& parameters, Instant now, std::uint64_t largest_cost = 1);

  // The shape in force for (limit, tier), if its parameters are these: what assign() would return
  // without giving a number. Null when there is none. For the thread that assigns.
  const Shape* unchanged(std::string_view limit, std::string_view tier, Algorithm algorithm,
                         const Limit& parameters) const;

  // Requires a number that assign() has given.
  const Shape& operator[](ShapeNumber number) const {
    return *shapes_[number].load(std::memory_order_acquire);
  }

  // How many numbers have been given. Any thread.
  std::size_t size() const { return size_.load(std::memory_order_acquire); }

 private:
  Shape* in_force(std::string_view limit, std::string_view tier) const;

  std::array<std::atomic<const Shape*>, kMost> shapes_{};
  std::atomic<std::size_t> size_{0};
  std::vector<std::unique_ptr<Shape>> owned_;
  std::map<std::pair<std::string, std::string>, Shape*> names_;  // in force, by limit and tier
};

}  // namespace suimon
