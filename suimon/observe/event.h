// One refusal, as it travels from an event loop to the thread that writes it down: a plain value of
// fixed size that points nowhere, because policies and requests may be gone by then.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "suimon/core/charge.h"
#include "suimon/engine/observer.h"

namespace suimon {

// Text of at most N bytes; what is longer is cut.
template <std::uint8_t N>
class ShortText {
 public:
  void assign(std::string_view text) {
    size_ = static_cast<std::uint8_t>(std::min<std::size_t>(text.size(), N));
    std::copy_n(text.data(), size_, bytes_.data());
  }
  std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  std::uint8_t size_ = 0;
  std::array<char, N> bytes_;
};

// What the log may show of a client, beside the hash.
struct ShownAttribute {
  ShortText<64> name;
  ShortText<128> value;
};

struct Event {
  enum class Kind : std::uint8_t { limited, never, shadow_limited };

  static constexpr std::size_t kMostShown = 4;

  Instant at;
  DoorId door = 0;
  Kind kind = Kind::limited;
  ShapeNumber limit_number = 0;  // tells limits apart; of its first bucket
  bool charged = false;          // false: an attribute is missing, and there is no key
  Key key;
  std::uint64_t capacity = 0;
  std::uint64_t remaining = 0;
  std::uint64_t cost = 0;
  std::optional<Duration> retry_after;
  ShortText<128> domain;
  ShortText<64> limit;
  ShortText<64> missing;  // the attribute that is, or ""
  std::uint8_t shown = 0;
  std::array<ShownAttribute, kMostShown> client;
};

}  // namespace suimon
