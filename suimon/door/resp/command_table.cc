#include "suimon/door/resp/command_table.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "suimon/base/text.h"

namespace suimon::door {
namespace {

using enum RespCommand;

// Those that ask limits first: they are looked for most.
constexpr CommandRow kRows[] = {
    {cl_throttle, "cl.throttle", -2, false, 1, "module",
     "Takes from the bucket of a key whose parameters are given, as redis-cell does"},
    {throttle, "throttle", -2, false, 1, "module",
     "Takes from the bucket of a key whose parameters are given, as throttlecrab does"},
    {suimon_check, "suimon.check", -3, false, 0, "module",
     "Asks the limits of a policy: domain, cost, attribute, value ..."},
    {ping, "ping", -1, false, 0, "connection", "Says PONG, or what it was given"},
    {echo, "echo", 2, false, 0, "connection", "Says what it was given"},
    {hello, "hello", -1, true, 0, "connection", "Chooses the protocol's version"},
    {auth, "auth", -2, true, 0, "connection", "Shows the password"},
    {client, "client", -2, false, 0, "connection", "Tells and asks about this connection"},
    {command, "command", -1, false, 0, "server", "Tells about commands"},
    {config, "config", -2, false, 0, "server", "Answers what benchmarks ask"},
    {info, "info", -1, false, 0, "server", "Tells about the server"},
    {select, "select", 2, false, 0, "connection", "Takes 0 to 15, which are all the same"},
    {reset, "reset", 1, true, 0, "connection", "Makes the connection as good as new"},
    {quit, "quit", -1, true, 0, "connection", "Closes the connection"},
};

// may_run() finds a row by its command.
constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<std::size_t>(kRows[i].command) != i + 1) return false;
  }
  return true;
}
static_assert(in_order());

void append_row(const CommandRow& row, Resp version, std::string& out) {
  append_array(10, out);
  append_bulk(row.name, out);
  append_integer(row.arity, out);
  append_set(row.before_password ? 3 : 2, version, out);
  append_simple("fast", out);
  append_simple("loading", out);
  if (row.before_password) append_simple("no_auth", out);
  append_integer(row.first_key, out);
  append_integer(row.first_key, out);
  append_integer(row.first_key == 0 ? 0 : 1, out);
  append_set(0, version, out);                       // categories of access lists
  for (int i = 0; i < 3; ++i) append_array(0, out);  // tips, specifications of keys, subcommands
}

void append_documentation(const CommandRow& row, Resp version, std::string& out) {
  append_bulk(row.name, out);
  append_map(3, version, out);
  append_bulk("summary", out);
  append_bulk(row.summary, out);
  append_bulk("since", out);
  append_bulk("1.0.0", out);
  append_bulk("group", out);
  append_bulk(row.group, out);
}

void append_documentations(std::span<const std::string_view> names, Resp version,
                           std::string& out) {
  std::size_t known = names.empty() ? std::size(kRows) : 0;
  for (const std::string_view name : names) known += find_row(name) != nullptr ? 1 : 0;
  append_map(known, version, out);
  if (names.empty()) {
    for (const CommandRow& row : kRows) append_documentation(row, version, out);
  }
  for (const std::string_view name : names) {
    if (const CommandRow* row = find_row(name)) append_documentation(*row, version, out);
  }
}

}  // namespace

std::span<const CommandRow> command_rows() { return kRows; }

const CommandRow* find_row(std::string_view word) {
  for (const CommandRow& row : kRows) {
    if (row.name.size() == word.size() && equal_ignoring_case(row.name, word)) return &row;
  }
  return nullptr;
}

void answer_about_commands(std::span<const std::string_view> words, const RespClient& client,
                           std::string& out) {
  const std::string_view about = words.size() > 1 ? words[1] : std::string_view{};
  const auto names = words.subspan(std::min<std::size_t>(2, words.size()));
  if (equal_ignoring_case(about, "count") && words.size() == 2) {
    append_integer(std::ssize(kRows), out);
  } else if (equal_ignoring_case(about, "docs")) {
    append_documentations(names, client.version, out);
  } else if (equal_ignoring_case(about, "list") && words.size() == 2) {
    append_array(std::size(kRows), out);
    for (const CommandRow& row : kRows) append_bulk(row.name, out);
  } else if (about.empty() || (equal_ignoring_case(about, "info") && names.empty())) {
    append_array(std::size(kRows), out);
    for (const CommandRow& row : kRows) append_row(row, client.version, out);
  } else if (equal_ignoring_case(about, "info")) {
    append_array(names.size(), out);
    for (const std::string_view name : names) {
      const CommandRow* row = find_row(name);
      row != nullptr ? append_row(*row, client.version, out) : append_null(client.version, out);
    }
  } else {
    append_error(
        "ERR unknown subcommand or wrong number of arguments for 'command'; known are "
        "COUNT, DOCS, INFO and LIST",
        out);
  }
}

}  // namespace suimon::door
