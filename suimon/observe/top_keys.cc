#include "suimon/observe/top_keys.h"

#include <algorithm>
#include <span>

#include "suimon/core/identity.h"

namespace suimon {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

constexpr std::uint32_t kHalving = 60;  // seconds

// Full minutes since `from`. Readings of the clock that lie before it change nothing.
std::uint32_t halvings(std::uint32_t from, std::uint32_t to) {
  return to > from ? (to - from) / kHalving : 0;
}

std::uint64_t halved(std::uint64_t count, std::uint32_t from, std::uint32_t to) {
  const std::uint32_t times = halvings(from, to);
  return times < 64 ? count >> times : 0;
}

}  // namespace

std::uint32_t TopKeys::second_of(Instant now) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(now.ns / kSecond, 0, 0xffffffff));
}

bool TopKeys::Entry::holds(const Key& key) const {
  return count.load(kRelaxed) != 0 && low.load(kRelaxed) == key.low &&
         high.load(kRelaxed) == key.high;
}

std::uint64_t TopKeys::Entry::count_at(std::uint32_t now) const {
  return halved(count.load(kRelaxed), since.load(kRelaxed), now);
}

// Each value is stored after the odd version and before the even one, for whoever loads them in
// the opposite order. Fences would say the same, but the thread sanitizer does not know them.
void TopKeys::Entry::write(ShapeNumber its_shape, const Key& key, std::uint64_t its_count,
                           std::uint64_t its_excess, std::uint32_t its_since) {
  constexpr auto kRelease = std::memory_order_release;
  const std::uint32_t before = version.load(kRelaxed);
  version.store(before + 1, kRelaxed);
  high.store(key.high, kRelease);
  low.store(key.low, kRelease);
  count.store(its_count, kRelease);
  excess.store(its_excess, kRelease);
  since.store(its_since, kRelease);
  shape.store(its_shape, kRelease);
  version.store(before + 2, kRelease);
}

TopKey TopKeys::Entry::read(std::uint32_t now) const {
  constexpr auto kAcquire = std::memory_order_acquire;
  constexpr int kTries = 16;
  for (int i = 0; i < kTries; ++i) {
    const std::uint32_t before = version.load(kAcquire);
    TopKey found;
    found.key = {high.load(kAcquire), low.load(kAcquire)};
    const std::uint64_t most = count.load(kAcquire);
    const std::uint64_t least = most - excess.load(kAcquire);
    const std::uint32_t as_of = since.load(kAcquire);
    found.shape = shape.load(kAcquire);
    if (before % 2 != 0 || version.load(kRelaxed) != before) continue;
    found.at_most = halved(most, as_of, now);
    found.at_least = halved(least, as_of, now);
    return found;
  }
  return {};
}

void TopKeys::add(ShapeNumber shape, const Key& key, Instant now) {
  // The higher half of a keyed hash, for the table finds its places by the lower one; but not the
  // bits that are the same for a client in several limits.
  const std::span<Entry> set(entries_.data() + (key.high >> kPlaceBits) % kSets * kWays, kWays);
  const std::uint32_t second = second_of(now);
  Entry* smallest = &set.front();
  std::uint64_t least = smallest->count_at(second);
  for (Entry& entry : set) {
    const std::uint64_t count = entry.count_at(second);
    if (count < least) {
      smallest = &entry;
      least = count;
    }
    if (!entry.holds(key)) continue;
    const std::uint32_t as_of = entry.since.load(kRelaxed);
    entry.write(shape, key, count + 1, halved(entry.excess.load(kRelaxed), as_of, second),
                as_of + halvings(as_of, second) * kHalving);
    return;
  }
  smallest->write(shape, key, least + 1, least, second);
}

}  // namespace suimon
