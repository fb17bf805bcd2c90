// What a request asks of one limit, and what a limit's parameters are called inside.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "suimon/decision.h"
#include "suimon/time.h"

namespace suimon {

// The identity of one client of one limit: a keyed 128-bit hash (core/identity.h). Raw addresses
// and names never travel further than the place that makes this.
struct Key {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr auto operator<=>(const Key&, const Key&) = default;
};

// The number of one set of parameters of one limit (core/shapes.h): 14 bits.
using ShapeNumber = std::uint16_t;

enum class Op : std::uint8_t {
  take,        // all of the amount, or nothing
  take_up_to,  // as much of the amount as is there
  peek,        // says what take would, and takes nothing
  give_back,   // returns the amount; never above the capacity
  force,       // takes the amount even if it is not there: a debt that must be earned first
  reserve,     // takes what will be there within max_wait
};

// What a change of secrets does to the state of a charge: it has two keys then, one under each
// secret, and lies under one of them. Whoever brings charges goes from `none` by `accept` to
// `move`, each time only when nobody brings a charge of the step before any more
// (LivePolicy::go_on).
enum class Rekey : std::uint8_t {
  none,    // the state lies under `key` alone
  accept,  // it may lie under `other`, the newer key, and stays where it is; else `key` gets it
  move,    // it may lie under `other`, the older key, and goes to `key` when it is next written
};

// The most charges that one request may bring: limits that apply to it at once.
inline constexpr std::size_t kMostCharges = 16;

struct Charge {
  Key key;
  std::uint64_t amount = 1;  // tokens
  Duration max_wait{0};      // reserve only
  ShapeNumber shape = 0;
  Op op = Op::take;
  bool keyless = false;  // the limit has one state for everybody; the key is that state's identity
  Rekey rekey = Rekey::none;
  Key other{};  // the same client's key under the other secret; unless `rekey` is none
};

}  // namespace suimon
