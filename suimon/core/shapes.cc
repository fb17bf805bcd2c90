#include "suimon/core/shapes.h"

namespace suimon {

Shape* Shapes::in_force(std::string_view limit, std::string_view tier) const {
  const auto place = names_.find({std::string(limit), std::string(tier)});
  return place == names_.end() ? nullptr : place->second;
}

const Shape* Shapes::unchanged(std::string_view limit, std::string_view tier, Algorithm algorithm,
                               const Limit& parameters) const {
  const Shape* shape = in_force(limit, tier);
  const bool same =
      shape != nullptr && shape->algorithm == algorithm && shape->parameters == parameters;
  return same ? shape : nullptr;
}

Result<const Shape*> Shapes::assign(std::string_view limit, std::string_view tier,
                                    Algorithm algorithm, const Limit& parameters, Instant now,
                                    std::uint64_t largest_cost) {
  if (const Shape* shape = unchanged(limit, tier, algorithm, parameters)) {
    shape->largest_cost.store(largest_cost, std::memory_order_relaxed);
    return shape;
  }
  Shape* current = in_force(limit, tier);
  if (auto valid = validate(parameters); !valid) return tl::unexpected(valid.error());
  if (owned_.size() == kMost) {
    return failure(
        "all 16384 numbers for limits have been used by changes since the start; "
        "restart to load more");
  }
  auto shape = std::make_unique<Shape>();
  shape->limit = limit;
  shape->tier = tier;
  shape->algorithm = algorithm;
  shape->parameters = parameters;
  shape->exact = detail::exact_scale(parameters);
  shape->word = detail::word_scale(parameters);
  shape->number = static_cast<ShapeNumber>(owned_.size());
  shape->since = now;
  shape->predecessor = current;
  shape->largest_cost.store(largest_cost, std::memory_order_relaxed);
  Shape* added = shape.get();
  names_[{shape->limit, shape->tier}] = added;
  shapes_[shape->number].store(added, std::memory_order_release);
  owned_.push_back(std::move(shape));
  size_.store(owned_.size(), std::memory_order_release);
  if (current != nullptr) current->successor.store(added, std::memory_order_release);
  return added;
}

}  // namespace suimon
