#include "suimon/table/layout.h"

#include <algorithm>

namespace suimon::table {
namespace {

constexpr std::size_t rounded_up(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

struct Offsets {
  std::size_t shards, shapes, own, descriptors, lines, end;

  explicit Offsets(const Size& size)
      : shards(sizeof(Header)),
        shapes(shards + kShards * sizeof(Shard)),
        own(shapes + size.shapes * sizeof(ShapeRecord)),
        descriptors(own + size.shapes * sizeof(OwnPlaces)),
        lines(rounded_up(descriptors + size.descriptors * sizeof(Descriptor))),
        end(rounded_up(lines + size.lines * 4 * sizeof(Slot))) {}
};

template <class T>
T* at_offset(std::byte* base, std::size_t offset) {
  return reinterpret_cast<T*>(base + offset);
}

}  // namespace

Size Size::for_keys(std::uint64_t keys, std::uint32_t shapes, std::uint32_t descriptors) {
  Size size;
  size.shapes = shapes;
  size.descriptors = descriptors;
  const std::uint64_t slots = keys + (keys * 97 + 199) / 200;
  const std::uint64_t lines = std::max<std::uint64_t>(kLinesOfKey, (slots + 3) / 4);
  size.lines_in_page = std::min<std::uint64_t>(lines, kLinesInPage);
  size.lines = (lines + size.lines_in_page - 1) / size.lines_in_page * size.lines_in_page;
  return size;
}

Memory Memory::at(std::byte* base, const Size& size) {
  const Offsets at(size);
  return {.header = at_offset<Header>(base, 0),
          .shards = at_offset<Shard>(base, at.shards),
          .shapes = at_offset<ShapeRecord>(base, at.shapes),
          .own = at_offset<OwnPlaces>(base, at.own),
          .descriptors = at_offset<Descriptor>(base, at.descriptors),
          .lines = at_offset<Slot>(base, at.lines),
          .slots = at_offset<Slot>(base, 0),
          .line_mask = size.lines == size.lines_in_page ? ~std::uint64_t{0} : kLinesInPage - 1,
          .size = size};
}

std::size_t Memory::bytes_for(const Size& size) { return Offsets(size).end; }

}  // namespace suimon::table
