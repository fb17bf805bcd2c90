// Answers of a Redis server: in one piece or in many, the same values come out, all of them within
// the bytes and the bounds; what reads the map of slots and redirects takes whatever came.
#include <cstdlib>
#include <string>
#include <vector>

#include "suimon/store/redis/link.h"
#include "suimon/store/redis/reply.h"
#include "suimon/store/redis/slot_map.h"

namespace {

using suimon::redis::ReplyReader;
using suimon::redis::Value;

void write(const Value& value, unsigned depth, std::string& out) {
  if (depth > ReplyReader::kMostNesting) std::abort();
  out += std::to_string(static_cast<int>(value.type)) + "," + std::to_string(value.integer) + ",";
  out += value.text;
  out += '[';
  for (const Value& element : value.elements) write(element, depth + 1, out);
  out += ']';
}

// All that is found when the bytes come in pieces of this size.
std::vector<std::string> read(std::string_view bytes, std::size_t piece) {
  ReplyReader reader;
  std::vector<std::string> found;
  while (!bytes.empty()) {
    reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      const auto what = reader.next();
      if (what == ReplyReader::Found::nothing) break;
      if (what == ReplyReader::Found::garbage) {
        if (reader.mistake().empty()) std::abort();
        found.emplace_back("garbage");
        return found;
      }
      std::string text = what == ReplyReader::Found::push ? "push " : "";
      write(reader.value(), 0, text);
      found.push_back(text);
      for (const auto& range : suimon::redis::read_slots(reader.value(), "asked")) {
        if (range.first > range.last || range.last >= suimon::redis::kSlots) std::abort();
        if (range.master.host.empty() || range.master.port == 0) std::abort();
      }
      const auto redirect = suimon::redis::read_redirect(reader.value().text, "asked");
      if (redirect && redirect->slot >= suimon::redis::kSlots) std::abort();
      suimon::redis::says_not_here(reader.value());
    }
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = read(bytes, size + 1);
  if (read(bytes, 1) != whole || read(bytes, 7) != whole) std::abort();
  return 0;
}
