#include "suimon/limiter.h"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <utility>

#include "suimon/base/inline_vector.h"
#include "suimon/core/identity.h"
#include "suimon/table/table.h"

namespace suimon {

struct Limiter::State {
  explicit State(table::Table t) : table(std::move(t)) {}

  table::Table table;
  SipKey hash_key{};
  ShapeNumber shape = 0;

  [[gnu::always_inline]] Decision check(std::string_view key, std::uint64_t cost,
                                        const auto& clock) {
    // Hash and prefetch come first: reading the clock takes about as long as a miss of the cache.
    const Key hash = short_key_of(hash_key, key);
    const table::Front front = table.prepare(hash.low);
    return table.take(hash, front, shape, cost, clock());
  }
};

Result<Limiter> Limiter::make(const Options& options) {
  if (options.max_keys == 0 || options.max_keys > std::uint64_t{1} << 32) {
    return failure("max_keys must be from 1 to 4294967296");
  }
  if (auto valid = validate(options.limit); !valid) return tl::unexpected(valid.error());
  // One limit, and no decision over several: one shape, and a descriptor that is never used.
  auto table = table::Table::make({.keys = options.max_keys, .shapes = 1, .descriptors = 1});
  if (!table) return tl::unexpected(table.error());
  auto state = std::make_unique<State>(std::move(*table));
  // The table keeps what it needs of a shape.
  const auto shapes = std::make_unique<Shapes>();
  auto shape =
      shapes->assign("limiter", "", Algorithm::token_bucket, options.limit, Instant::min());
  if (!shape) return tl::unexpected(shape.error());
  state->shape = (*shape)->number;
  state->hash_key = derive(random_secret(), "table", "limiter");
  if (auto adopted = state->table.adopt({&*shape, 1}); !adopted) {
    return tl::unexpected(adopted.error());
  }
  return Limiter(std::move(state));
}

Limiter::Limiter(const Options& options) {
  auto made = make(options);
  if (!made) throw std::invalid_argument(made.error().text);
  state_ = std::move(made->state_);
}

Limiter::Limiter(std::unique_ptr<State> state) : state_(std::move(state)) {}
Limiter::~Limiter() = default;
Limiter::Limiter(Limiter&&) noexcept = default;
Limiter& Limiter::operator=(Limiter&&) noexcept = default;

Decision Limiter::check(std::string_view key, std::uint64_t cost) {
  return state_->check(key, cost, boot_now);
}

Decision Limiter::check(std::string_view key, std::uint64_t cost, Instant now) {
  return state_->check(key, cost, [now] { return now; });
}

void Limiter::check_many(std::span<const std::string_view> keys, std::span<Decision> out,
                         Instant now) {
  assert(keys.size() == out.size());
  // The misses of a batch overlap: all are on their way before the first is decided.
  constexpr std::size_t kBatch = 16;
  struct Prepared {
    Key key;
    table::Front front;
  };
  State& state = *state_;
  while (!keys.empty()) {
    InlineVector<Prepared, kBatch> batch;
    const std::size_t count = std::min(kBatch, keys.size());
    for (std::size_t i = 0; i < count; ++i) {
      const Key key = short_key_of(state.hash_key, keys[i]);
      batch.emplace_back(Prepared{key, state.table.prepare_many(key.low)});
    }
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = state.table.take(batch[i].key, batch[i].front, state.shape, 1, now);
    }
    keys = keys.subspan(count);
    out = out.subspan(count);
  }
}

Decision Limiter::peek(std::string_view key, std::uint64_t cost, Instant now) {
  return state_->table.take_one({.key = short_key_of(state_->hash_key, key),
                                 .amount = cost,
                                 .shape = state_->shape,
                                 .op = Op::peek},
                                now);
}

std::uint64_t Limiter::keys() const { return state_->table.figures().entries; }
std::uint64_t Limiter::evictions() const { return state_->table.figures().evictions; }
std::uint64_t Limiter::overflows() const { return state_->table.figures().overflows; }
std::uint64_t Limiter::bytes() const { return state_->table.bytes().size(); }

}  // namespace suimon
