// THE LIST of commands, with what COMMAND tells of them. Private to the door.
#pragma once

#include <span>
#include <string_view>

#include "suimon/door/resp/commands.h"

namespace suimon::door {

struct CommandRow {
  RespCommand command;
  std::string_view name;
  int arity;  // words with the name; -N: at least N
  bool before_password;
  int first_key;  // the place of its key, or 0
  std::string_view group;
  std::string_view summary;
};

std::span<const CommandRow> command_rows();
const CommandRow* find_row(std::string_view word);

// COMMAND and what stands behind it.
void answer_about_commands(std::span<const std::string_view> words, const RespClient& client,
                           std::string& out);

}  // namespace suimon::door
