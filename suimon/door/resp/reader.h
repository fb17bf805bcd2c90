// The Redis protocol's requests: bytes to the words of a command.
//
// A command is an array of bulk strings ("*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n"), or one line of words
// as people type them ("ECHO hi\r\n"). Nothing is kept between calls: an incomplete command is read
// from its beginning once more bytes are there, and its size is bounded.
// Source: the Redis serialization protocol specification (RESP), "Sending commands to a Redis
// server" and "Inline commands". Thread rule: one thread. Complexity: O(bytes of the line, or
// words).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace suimon::door {

struct RespLimits {
  std::size_t words = 1024;                 // of one command, its name included
  std::size_t word_bytes = 64 << 10;        // of one word
  std::size_t line_bytes = 64 << 10;        // of a command in one line
  std::size_t command_bytes = 1 << 20;      // of a whole command
  std::size_t unproved_words = 10;          // the same for who has not shown the password yet
  std::size_t unproved_word_bytes = 16384;  // and of a line
};

class RespReader {
 public:
  explicit RespReader(const RespLimits& limits = {}) : limits_(limits) {}

  enum class Status : std::uint8_t {
    need_more,  // nothing is consumed
    nothing,    // an empty line or array: consumed, and no command
    command,    // words() are its words
    bad,        // error() says why; what follows cannot be read any more
  };
  // Reads one command from the beginning of `in`. `proved`: the client may send long ones.
  Status read(std::string_view in, bool proved, std::size_t& consumed);

  // Views into `in`, and into the reader for lines; valid until the next read().
  std::span<const std::string_view> words() const { return words_; }
  // As Redis says it, without "ERR ": "Protocol error: invalid multibulk length".
  const std::string& error() const { return error_; }

 private:
  Status read_array(std::string_view in, bool proved, std::size_t& consumed);
  Status read_line(std::string_view in, bool proved, std::size_t& consumed);
  Status bad(std::string_view why);

  RespLimits limits_;
  std::vector<std::string_view> words_;
  std::string unquoted_;  // the words of a line, where they were quoted
  std::string error_;
};

}  // namespace suimon::door
