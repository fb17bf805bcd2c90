// The Redis protocol's replies, in version 2 or 3, appended to what is to be sent.
//
// Thread rule: pure functions over a caller's string.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace suimon::door {

// Which version of the protocol a connection speaks: what HELLO has said, 2 at first.
enum class Resp : std::uint8_t { two = 2, three = 3 };

// "+OK\r\n". Requires text without line breaks, as errors do.
void append_simple(std::string_view text, std::string& out);
// "-ERR ...\r\n". Control characters, which would end the line, become blanks.
void append_error(std::string_view text, std::string& out);
void append_integer(std::int64_t number, std::string& out);
void append_bulk(std::string_view bytes, std::string& out);
void append_null(Resp version, std::string& out);
// Text for people: verbatim in version 3, a bulk string in version 2.
void append_text(std::string_view text, Resp version, std::string& out);
// What follows are `size` elements.
void append_array(std::size_t size, std::string& out);
// What follows are `pairs` keys and values: in version 2 an array of both.
void append_map(std::size_t pairs, Resp version, std::string& out);
// What follows are `size` elements without an order: in version 2 an array.
void append_set(std::size_t size, Resp version, std::string& out);
// An array of integers at once: the commonest reply.
void append_integers(std::span<const std::int64_t> numbers, std::string& out);

}  // namespace suimon::door
