// Answers of a Redis server, RESP2 and RESP3, out of bytes that come in pieces.
//
// A byte is looked at once or twice, however small the pieces are; elements lie in one array that
// is used again. What a hostile server can make it hold is bounded below, and everything that is no
// RESP is refused; streamed answers ("$?"), which nobody asks for, are refused as well.
// Thread rule: a plain object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/store/redis/servers.h"

namespace suimon::redis {

class ReplyReader {
 public:
  static constexpr std::size_t kMostBytes = 8 << 20;     // of an answer
  static constexpr std::size_t kMostLine = 16 << 10;     // of a line in it: errors, numbers
  static constexpr std::size_t kMostValues = 256 << 10;  // in an answer, elements of elements too
  static constexpr std::size_t kMostNesting = 8;         // arrays within arrays

  // Takes over bytes that have arrived. What value() pointed to is gone.
  void feed(std::string_view bytes);

  enum class Found : std::uint8_t {
    nothing,  // until more is fed
    answer,
    push,    // RESP3: something that was not asked for
    garbage  // mistake() says what; there is no going on after it
  };
  // The next one. What value() pointed to is gone.
  Found next();

  // Of the answer or push that next() has found.
  const Value& value() const { return values_.front(); }
  std::string_view mistake() const { return mistake_; }

  // As after construction, for another connection.
  void reset();

 private:
  struct Frame {
    std::size_t left = 0;    // elements that are still to come
    bool attribute = false;  // and then the value that they are about
  };

  bool scan();
  bool scan_one(std::string_view line);
  bool open(std::size_t count, bool attribute);
  bool bad(std::string_view mistake);
  void build(Value& value);
  void skip();
  std::string_view take_line();
  void read_elements(Value& value, std::size_t count);

  std::string bytes_;          // not consumed yet: from begin_ on
  std::size_t begin_ = 0;      // of the answer that is being read
  std::size_t at_ = 0;         // up to where it has been scanned
  std::size_t searched_ = 0;   // up to where no end of line has been found
  std::size_t body_ = 0;       // bytes of a string that are to come, with their end of line
  std::size_t announced_ = 1;  // values, as arrays have told
  std::array<Frame, kMostNesting> frames_;
  std::size_t depth_ = 0;
  bool push_ = false;
  std::vector<Value> values_ = std::vector<Value>(1);
  std::size_t used_ = 1;  // of values_
  std::string_view mistake_;
};

}  // namespace suimon::redis
