// A shape as it stands in the table's region, and how it is read there (core/shapes.h).
//
// A record is written once, by the thread that loads policies, and published by its last word; only
// `successor` and `largest_cost` change later. Any thread may read.
#pragma once

#include <cstdint>

#include "suimon/core/algorithms.h"
#include "suimon/core/charge.h"

namespace suimon::table {

struct alignas(64) ShapeRecord {
  enum State : std::uint8_t { free = 0, ready = 1 };

  detail::Scale scale;             // how a word counts
  Instant since;                   // when it came into force
  std::uint64_t largest_cost = 1;  // of one request: who cannot pay that is limited
  std::uint16_t successor = 0;     // what replaced it, plus 1; 0: nothing has
  std::uint16_t own = 0;           // which OwnPlaces are its limit's
  Algorithm algorithm = Algorithm::token_bucket;
  State state = free;
};
static_assert(sizeof(ShapeRecord) == 64);

// A shape as the table sees it: the View of core/joint.h.
class ShapeView {
 public:
  ShapeView() = default;
  ShapeView(const ShapeRecord* records, ShapeNumber number)
      : records_(records), record_(records + number) {}

  explicit operator bool() const { return record_ != nullptr; }
  friend bool operator==(const ShapeView& a, const ShapeView& b) { return a.record_ == b.record_; }

  ShapeNumber number() const { return static_cast<ShapeNumber>(record_ - records_); }
  bool is_ready() const { return __atomic_load_n(&record_->state, __ATOMIC_ACQUIRE) != 0; }
  Algorithm algorithm() const { return record_->algorithm; }
  const detail::Scale& scale() const { return record_->scale; }
  Instant since() const { return record_->since; }
  std::uint64_t largest_cost() const {
    return __atomic_load_n(&record_->largest_cost, __ATOMIC_RELAXED);
  }
  std::uint16_t own() const { return record_->own; }

  ShapeView next() const {
    const std::uint16_t next = __atomic_load_n(&record_->successor, __ATOMIC_ACQUIRE);
    return next == 0 ? ShapeView() : ShapeView(records_, static_cast<ShapeNumber>(next - 1));
  }
  ShapeView newest() const {
    ShapeView shape = *this;
    while (const ShapeView next = shape.next()) shape = next;
    return shape;
  }

 private:
  const ShapeRecord* records_ = nullptr;
  const ShapeRecord* record_ = nullptr;
};

}  // namespace suimon::table
