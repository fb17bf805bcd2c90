#include "suimon/limiter.h"

#include <cassert>
#include <stdexcept>

#include "suimon/core/identity.h"
#include "suimon/store/reference.h"

namespace suimon {

struct Limiter::State {
  explicit State(std::uint64_t max_keys) : store({.max_keys = max_keys}) {}

  Shapes shapes;
  ReferenceStore store;
  SipKey hash_key{};
  ShapeNumber shape = 0;

  void decide(std::string_view key, std::uint64_t cost, Op op, Instant now, Decision& out) {
    const Charge charge{.key = key_of(hash_key, key), .amount = cost, .shape = shape, .op = op};
    Group group{{&charge, 1}, {&out, 1}};
    store.take({&group, 1}, now, {[](void*, const Result<void>&) {}, nullptr});
  }
};

Result<Limiter> Limiter::make(const Options& options) {
  if (options.max_keys == 0 || options.max_keys > std::uint64_t{1} << 32) {
    return failure("max_keys must be from 1 to 4294967296");
  }
  auto state = std::make_unique<State>(options.max_keys);
  auto shape =
      state->shapes.assign("limiter", "", Algorithm::token_bucket, options.limit, Instant::min());
  if (!shape) return tl::unexpected(shape.error());
  state->shape = (*shape)->number;
  state->hash_key = derive(random_secret(), "table", "limiter");
  if (auto adopted = state->store.adopt({&*shape, 1}); !adopted) {
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

Decision Limiter::check(std::string_view key, std::uint64_t cost, Instant now) {
  Decision decision;
  state_->decide(key, cost, Op::take, now, decision);
  return decision;
}

void Limiter::check_many(std::span<const std::string_view> keys, std::span<Decision> out,
                         Instant now) {
  assert(keys.size() == out.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    state_->decide(keys[i], 1, Op::take, now, out[i]);
  }
}

Decision Limiter::peek(std::string_view key, std::uint64_t cost, Instant now) {
  Decision decision;
  state_->decide(key, cost, Op::peek, now, decision);
  return decision;
}

std::uint64_t Limiter::keys() const { return state_->store.figures().entries; }
std::uint64_t Limiter::overflows() const { return state_->store.figures().overflows; }

}  // namespace suimon
