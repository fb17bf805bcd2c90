// A command on its way to a server, and how it is written in RESP.
//
// Thread rule: the loop's thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "suimon/base/text.h"
#include "suimon/store/redis/servers.h"

namespace suimon::redis {

class Link;

// What a link carries. Whoever owns it keeps it until it is heard of or Link::forget() it.
class Command {
 public:
  // Appends its bytes; called when it is sent, and again when it is sent again.
  virtual void write(std::string& out) const = 0;
  // How many answers those bytes bring; the last one is its own.
  virtual unsigned answers() const { return 1; }
  // What became of it: once for each time that it was given to a link.
  virtual void heard(Link& from, Fate fate, const Value& value) = 0;

 protected:
  ~Command() = default;
};

inline void append_head(std::string& out, std::size_t words) {
  out += '*';
  append_number(words, out);
  out += "\r\n";
}

inline void append_word(std::string& out, std::string_view word) {
  out += '$';
  append_number(word.size(), out);
  out += "\r\n";
  out += word;
  out += "\r\n";
}

inline void append_command(std::string& out, std::initializer_list<std::string_view> words) {
  append_head(out, words.size());
  for (const std::string_view word : words) append_word(out, word);
}

// Whether an error begins with this code.
inline bool has_code(const Value& value, std::string_view code) {
  return value.type == Value::Type::error && value.text.starts_with(code) &&
         (value.text.size() == code.size() || value.text[code.size()] == ' ');
}

inline Value error_value(std::string_view text) {
  return {.type = Value::Type::error, .integer = 0, .text = text, .elements = {}};
}

}  // namespace suimon::redis
