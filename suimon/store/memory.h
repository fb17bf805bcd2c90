// The store in memory: the table of suimon/table behind take(groups, now, done).
//
// Every state is one word: exact where the rate allows it, else never generous and at most two
// units late (docs/bounds.md). Memory is fixed when it is opened.
#pragma once

#include "suimon/store/store.h"
#include "suimon/table/table.h"

namespace suimon {

class MemoryStore final : public Store {
 public:
  struct Options {
    std::uint64_t max_keys = 1'000'000;  // 1 to 2^32
    WhenFull when_full = WhenFull::share;
  };

  static Result<std::unique_ptr<Store>> open(const Options& options);

  std::string_view name() const override { return "memory"; }
  Result<void> adopt(std::span<const Shape* const> shapes) override { return table_.adopt(shapes); }
  void take(std::span<Group> groups, Instant now, Done done) override;
  StoreFigures figures() const override;
  bool carries_over() const override { return true; }
  bool convert_replaced() override {
    table_.convert_replaced();
    return true;
  }
  void forget(std::span<const Shape* const> shapes) override { table_.forget(shapes); }

 private:
  explicit MemoryStore(table::Table table) : table_(std::move(table)) {}

  table::Table table_;
};

}  // namespace suimon
