// What a door hands over: who asks for what, as views into the door's own buffers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace suimon {

struct Attribute {
  std::string_view name;
  std::string_view value;
};

struct Request {
  // A request names at most this many attributes.
  static constexpr std::size_t kMostAttributes = 64;

  std::string_view domain;  // "" means the one domain that is loaded
  std::span<const Attribute> attributes;
  std::uint64_t cost = 1;  // 0 looks without taking

  // The value that stands first under `name`; "" when there is none.
  std::string_view value_of(std::string_view name) const {
    for (const Attribute& attribute : attributes) {
      if (attribute.name == name) return attribute.value;
    }
    return {};
  }
};

}  // namespace suimon
