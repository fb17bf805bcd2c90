// The commands that ask no limit: what real Redis clients send when they connect, look around and
// leave. Answers and errors are those of Redis 7.
//
// Thread rule: pure functions over one connection's state.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "suimon/door/resp/password.h"
#include "suimon/door/resp/replies.h"

namespace suimon::door {

// Which command a word names; those that ask limits are the session's.
enum class RespCommand : std::uint8_t {
  unknown,
  cl_throttle,
  throttle,
  suimon_check,
  ping,
  echo,
  hello,
  auth,
  client,
  command,
  config,
  info,
  select,
  reset,
  quit,
};

RespCommand find_command(std::string_view word);

// What a connection has said of itself.
struct RespClient {
  std::uint64_t id = 0;
  Resp version = Resp::two;
  bool proved = false;  // it may ask: no password is needed, or it has shown it
  bool leaves = false;  // the connection ends with this answer
  int database = 0;
  unsigned wrong_passwords = 0;
  std::string name;
  std::string library;
  std::string library_version;
};

// What the commands may tell of the door.
struct RespFacts {
  const RespPassword& password;
  std::size_t connections = 0;
};

// Whether a command that is known may have so many words.
bool has_right_count(RespCommand command, std::span<const std::string_view> words);

// Whether the client may give this command with so many words; if not, the error is appended.
bool may_run(RespCommand command, std::span<const std::string_view> words, const RespClient& client,
             std::string& out);

// Answers a command that may run and asks no limit.
void answer_command(RespCommand command, std::span<const std::string_view> words,
                    RespClient& client, const RespFacts& facts, std::string& out);

}  // namespace suimon::door
