#include "suimon/core/shapes.h"

namespace suimon {

Result<const Shape*> Shapes::assign(std::string_view limit, std::string_view tier,
                                    Algorithm algorithm, const Limit& parameters, Instant now) {
  Shape* current = nullptr;
  for (const auto& shape : owned_) {
    if (shape->limit == limit && shape->tier == tier &&
        shape->successor.load(std::memory_order_relaxed) == nullptr) {
      current = shape.get();
    }
  }
  if (current != nullptr && current->algorithm == algorithm && current->parameters == parameters) {
    return current;
  }
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
  const Shape* added = shape.get();
  shapes_[shape->number].store(added, std::memory_order_release);
  owned_.push_back(std::move(shape));
  size_.store(owned_.size(), std::memory_order_release);
  if (current != nullptr) current->successor.store(added, std::memory_order_release);
  return added;
}

}  // namespace suimon
