#include "suimon/core/shapes.h"

#include <tuple>

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
  Shape* shape = fresh({std::string(limit), std::string(tier)});
  if (shape == nullptr) {
    return failure(
        "all 16384 numbers for limits have been used by changes since the start; "
        "restart to load more");
  }
  shape->algorithm = algorithm;
  shape->parameters = parameters;
  shape->exact = detail::exact_scale(parameters);
  shape->word = detail::word_scale(parameters);
  shape->since = now;
  shape->predecessor = current;
  shape->successor.store(nullptr, std::memory_order_relaxed);
  shape->largest_cost.store(largest_cost, std::memory_order_relaxed);
  names_[{shape->limit, shape->tier}] = shape;
  shapes_[shape->number].store(shape, std::memory_order_release);
  size_.store(owned_.size(), std::memory_order_release);
  used_.fetch_add(1, std::memory_order_relaxed);
  if (current != nullptr) current->successor.store(shape, std::memory_order_release);
  return shape;
}

// A shape of this limit and tier that nothing refers to; null when there is no number for it.
Shape* Shapes::fresh(const Name& name) {
  const auto released = free_.find(name);
  if (released != free_.end() && !released->second.empty()) {
    Shape* shape = released->second.back();
    released->second.pop_back();
    return shape;
  }
  if (owned_.size() == kMost) return nullptr;
  owned_.push_back(std::make_unique<Shape>());
  Shape* shape = owned_.back().get();
  std::tie(shape->limit, shape->tier) = name;
  shape->number = static_cast<ShapeNumber>(owned_.size() - 1);
  return shape;
}

void Shapes::restate(const Shape& shape, const Limit& parameters, Instant now) {
  Shape& own = *owned_[shape.number];
  own.parameters = parameters;
  own.exact = detail::exact_scale(parameters);
  own.word = detail::word_scale(parameters);
  own.since = now;
}

bool Shapes::needs_new_number(std::string_view limit, std::string_view tier, Algorithm algorithm,
                              const Limit& parameters) const {
  if (unchanged(limit, tier, algorithm, parameters) != nullptr) return false;
  const auto released = free_.find({std::string(limit), std::string(tier)});
  return released == free_.end() || released->second.empty();
}

std::vector<const Shape*> Shapes::replaced() const {
  std::vector<const Shape*> all;
  for (const auto& [name, shape] : names_) {
    for (const Shape* old = shape->predecessor; old != nullptr; old = old->predecessor) {
      all.push_back(old);
    }
  }
  return all;
}

void Shapes::release(std::span<const Shape* const> shapes) {
  for (const Shape* released : shapes) {
    Shape* shape = owned_[released->number].get();
    // What replaced it, and stays, is the first of its chain now.
    Shape* next = owned_[shape->successor.load(std::memory_order_relaxed)->number].get();
    next->predecessor = nullptr;
    shape->predecessor = nullptr;
    free_[{shape->limit, shape->tier}].push_back(shape);
  }
  used_.fetch_sub(shapes.size(), std::memory_order_relaxed);
}

}  // namespace suimon
