// Where everything lies in the table's region, which holds offsets and no pointers: it may be
// mapped at another address, and by several processes.
//
//   header | shards of figures | shapes | own places | descriptors | lines
//
// A line is 64 bytes: four slots. 64 lines are a page of 4 KiB. The three candidate lines of a key
// lie in one page, so that a lookup costs one entry of the TLB.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "suimon/table/descriptor.h"
#include "suimon/table/shape_record.h"
#include "suimon/table/slot.h"

namespace suimon::table {

inline constexpr unsigned kShards = 64;
inline constexpr std::size_t kLinesInPage = 64;
inline constexpr std::size_t kLinesOfKey = 3;
inline constexpr std::size_t kPage = 4096;

struct alignas(64) Header {
  // H: no state that was reclaimed was full later than this; in nanoseconds, ordered as unsigned.
  std::uint64_t horizon = 0;
};

// Figures, in shards because a counter that all threads share would be the busiest line of all.
struct alignas(64) Shard {
  std::uint64_t nonces = 0;
  std::uint64_t entries = 0;    // slots that are not empty; the sum over all shards counts
  std::uint64_t evictions = 0;  // states that owed something and had to go
  std::uint64_t forgiven = 0;   // tokens that they owed, rounded up
  std::uint64_t overflows = 0;  // charges that went to an overflow bucket
  std::uint64_t aborts = 0;     // claims on several slots that were broken by a rival
};

// The places of a limit that nobody else can take, on a line of their own.
struct alignas(64) OwnPlaces {
  Slot keyless;   // the state of a limit whose key is empty
  Slot overflow;  // shared by newcomers who find no place
};

struct Size {
  std::uint64_t lines = kLinesOfKey;
  std::uint64_t lines_in_page = kLinesOfKey;  // kLinesInPage unless there is less than one page
  std::uint32_t shapes = 1;
  std::uint32_t descriptors = 1;
  std::uint32_t own_descriptors =
      0;  // the first ones: of the threads with these numbers, no others

  // For `keys` keys: 1.485 slots each, which is 23.8 bytes and loses fewer than 0.05 % while it is
  // filled (tests/table/filling_test.cc).
  static Size for_keys(std::uint64_t keys, std::uint32_t shapes, std::uint32_t descriptors);
};

// The region, as pointers of this process.
struct Memory {
  Header* header = nullptr;
  Shard* shards = nullptr;
  ShapeRecord* shapes = nullptr;
  OwnPlaces* own = nullptr;
  Descriptor* descriptors = nullptr;
  Slot* lines = nullptr;
  Slot* slots = nullptr;        // the whole region as slots: what a Descriptor's entries count in
  std::uint64_t line_mask = 0;  // which bits of a line's number say where it is in its page
  Size size;

  // Requires zeroed, or already used, memory of bytes_for(size), aligned to a page.
  static Memory at(std::byte* base, const Size& size);
  static std::size_t bytes_for(const Size& size);
};

// A key's hash has two halves: the lower one says where the key may lie, the other whether it is
// the key.
constexpr std::uint64_t fingerprint_of(const Key& key) { return key.high >> 16; }

// Where a key is nearly always: two different lines of one page.
struct Front {
  Slot* first;
  Slot* second;

  [[gnu::always_inline]] Front(const Memory& memory, unsigned slots_in_line, std::uint64_t low) {
    const std::uint64_t line = line_of(memory, low);
    first = memory.lines + line * slots_in_line;
    second = memory.lines + beside(memory, line, distance(memory, low)) * slots_in_line;
  }

  static std::uint64_t line_of(const Memory& memory, std::uint64_t low) {
    __extension__ typedef unsigned __int128 Product;
    return static_cast<std::uint64_t>(static_cast<Product>(low) * memory.size.lines >> 64);
  }
  // How far the second line is from the first: 1 to lines_in_page - 1.
  static std::uint64_t distance(const Memory& memory, std::uint64_t low) {
    return 1 + draw(low, memory.size.lines_in_page - 1);
  }
  // The line that far behind another, within their page.
  static std::uint64_t beside(const Memory& memory, std::uint64_t line, std::uint64_t by) {
    const std::uint64_t next = (line & memory.line_mask) + by;
    const std::uint64_t here = memory.size.lines_in_page;
    return (line & ~memory.line_mask) + (next < here ? next : next - here);
  }
  // A number below n, from 16 bits of a hash.
  static std::uint64_t draw(std::uint64_t bits, std::uint64_t n) {
    return (bits & 0xffff) * n >> 16;
  }
};

// Where a key may lie at all: three different lines of one page.
struct Candidates {
  std::uint64_t fingerprint = 0;
  std::array<Slot*, kLinesOfKey> lines{};

  Candidates() = default;
  Candidates(const Memory& memory, unsigned slots_in_line, const Key& key)
      : fingerprint(fingerprint_of(key)) {
    const Front front(memory, slots_in_line, key.low);
    std::uint64_t third = 1 + Front::draw(key.high, memory.size.lines_in_page - 2);
    third += third >= Front::distance(memory, key.low) ? 1 : 0;
    const std::uint64_t line = Front::line_of(memory, key.low);
    lines = {front.first, front.second,
             memory.lines + Front::beside(memory, line, third) * slots_in_line};
  }
};

}  // namespace suimon::table
