#include "suimon/door/resp/commands.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "suimon/base/text.h"
#include "suimon/door/resp/command_table.h"

namespace suimon::door {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::string_view kRedisVersion = "7.0.0";  // whose answers these are
constexpr std::size_t kLongestName = 64;             // of a client or its library
constexpr unsigned kMostWrongPasswords = 10;         // then the connection ends
constexpr int kDatabases = 16;

constexpr std::string_view kWrongPassword =
    "WRONGPASS invalid username-password pair or user is disabled.";

bool is(std::string_view word, std::string_view name) { return equal_ignoring_case(word, name); }

// As Redis takes names: no blanks and no line breaks, so that lists of clients stay readable.
bool is_plain(std::string_view text) {
  return text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

void append_wrong_count(std::string_view command, std::string& out) {
  append_error("ERR wrong number of arguments for '" + ascii_lower(command) + "' command", out);
}

void append_unknown(Words words, std::string& out) {
  constexpr std::size_t kMost = 128;  // of what is shown again
  std::string text = "ERR unknown command '";
  text += words[0].substr(0, kMost);
  text += "', with args beginning with: ";
  const std::size_t begin = text.size();
  for (const std::string_view word : words.subspan(1)) {
    if (text.size() - begin >= kMost) break;
    text += '\'';
    text += word.substr(0, kMost - (text.size() - begin));
    text += "' ";
  }
  append_error(text, out);
}

// Whether the words are the password; if not, the error is appended.
bool prove(std::string_view user, std::string_view password, RespClient& client,
           const RespFacts& facts, std::string& out) {
  const bool right = user == "default" && password.size() <= RespPassword::kLongest &&
                     (!facts.password.needed() || facts.password.matches(password));
  if (right) {
    client.proved = true;
    return true;
  }
  append_error(kWrongPassword, out);
  if (++client.wrong_passwords >= kMostWrongPasswords) client.leaves = true;
  return false;
}

void auth(Words words, RespClient& client, const RespFacts& facts, std::string& out) {
  if (words.size() > 3) return append_error("ERR syntax error", out);
  if (words.size() == 2 && !facts.password.needed()) {
    return append_error(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?",
        out);
  }
  const std::string_view user = words.size() == 3 ? words[1] : "default";
  if (prove(user, words.back(), client, facts, out)) append_simple("OK", out);
}

void hello(Words words, RespClient& client, const RespFacts& facts, std::string& out) {
  Resp version = client.version;
  if (words.size() > 1) {
    const auto number = parse_number<int>(words[1]);
    if (!number) {
      return append_error("ERR Protocol version is not an integer or out of range", out);
    }
    if (*number != 2 && *number != 3)
      return append_error("NOPROTO unsupported protocol version", out);
    version = *number == 3 ? Resp::three : Resp::two;
  }
  std::optional<std::string_view> name;
  for (std::size_t i = 2; i < words.size();) {
    if (is(words[i], "auth") && i + 2 < words.size()) {
      if (!prove(words[i + 1], words[i + 2], client, facts, out)) return;
      i += 3;
    } else if (is(words[i], "setname") && i + 1 < words.size()) {
      name = words[i + 1];
      i += 2;
    } else {
      std::string text = "ERR Syntax error in HELLO option '";
      text += words[i].substr(0, kLongestName);
      return append_error(text + "'", out);
    }
  }
  if (!client.proved) {
    return append_error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "
        "RESP protocol version at the same time",
        out);
  }
  if (name && !is_plain(*name)) {
    return append_error("ERR Client names cannot contain spaces, newlines or special characters.",
                        out);
  }
  if (name) client.name = *name;
  client.version = version;
  append_map(7, version, out);
  append_bulk("server", out);
  append_bulk("suimon", out);
  append_bulk("version", out);
  append_bulk(kRedisVersion, out);
  append_bulk("proto", out);
  append_integer(static_cast<int>(version), out);
  append_bulk("id", out);
  append_integer(static_cast<std::int64_t>(client.id), out);
  append_bulk("mode", out);
  append_bulk("standalone", out);
  append_bulk("role", out);
  append_bulk("master", out);
  append_bulk("modules", out);
  append_array(0, out);
}

std::string describe(const RespClient& client) {
  std::string text = "id=";
  append_number(client.id, text);
  text += " name=" + client.name + " db=";
  append_number(client.database, text);
  text += " resp=";
  append_number(static_cast<int>(client.version), text);
  return text + " lib-name=" + client.library + " lib-ver=" + client.library_version + "\n";
}

void set_text(std::string_view value, std::string_view what, std::string& to, std::string& out) {
  if (!is_plain(value)) {
    return append_error(
        "ERR " + std::string(what) + " cannot contain spaces, newlines or special characters.",
        out);
  }
  to = value;
  append_simple("OK", out);
}

void client_command(Words words, RespClient& client, std::string& out) {
  const std::string_view what = words[1];
  const std::size_t count = words.size();
  // Clients say these to make themselves known, or for keys that are kept; nothing depends on it.
  constexpr std::array<std::string_view, 3> kTaken = {"no-evict", "no-touch", "caching"};
  constexpr std::array<std::string_view, 4> kSwitches = {"on", "off", "yes", "no"};
  const auto is_one_of = [](std::string_view word, std::span<const std::string_view> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return is(word, name); });
  };
  const bool switched = count == 3 && is_one_of(what, kTaken) && is_one_of(words[2], kSwitches);
  if (is(what, "setinfo") && count == 4) {
    if (is(words[2], "lib-name")) return set_text(words[3], "lib-name", client.library, out);
    if (is(words[2], "lib-ver")) return set_text(words[3], "lib-ver", client.library_version, out);
    std::string text = "ERR Unrecognized option '";
    text += words[2].substr(0, kLongestName);
    append_error(text + "'", out);
  } else if (is(what, "setname") && count == 3) {
    set_text(words[2], "Client names", client.name, out);
  } else if (is(what, "getname") && count == 2) {
    client.name.empty() ? append_null(client.version, out) : append_bulk(client.name, out);
  } else if (is(what, "id") && count == 2) {
    append_integer(static_cast<std::int64_t>(client.id), out);
  } else if ((is(what, "info") && count == 2) || is(what, "list")) {
    append_text(describe(client), client.version, out);  // of others nothing is told
  } else if (switched || (is(what, "reply") && count == 3 && is(words[2], "on")) ||
             (is(what, "tracking") && count >= 3 && is(words[2], "off"))) {
    append_simple("OK", out);
  } else {
    std::string text = "ERR unknown subcommand or wrong number of arguments for '";
    text += what.substr(0, kLongestName);
    append_error(text +
                     "'; known to CLIENT are GETNAME, ID, INFO, LIST, NO-EVICT, NO-TOUCH, "
                     "REPLY ON, SETINFO, SETNAME and TRACKING OFF",
                 out);
  }
}

// redis-benchmark asks these two before it begins.
void config_command(Words words, const RespClient& client, std::string& out) {
  if (words.size() < 3 || !is(words[1], "get")) {
    return append_error("ERR only CONFIG GET is answered; the policy file sets what there is", out);
  }
  const bool save = is(words[2], "save");
  const bool append_only = is(words[2], "appendonly");
  append_map(save || append_only ? 1 : 0, client.version, out);
  if (!save && !append_only) return;
  append_bulk(save ? "save" : "appendonly", out);
  append_bulk(save ? "" : "no", out);
}

void info_command(Words words, const RespClient& client, const RespFacts& facts, std::string& out) {
  const auto wanted = [&](std::string_view section) {
    const Words sections = words.subspan(1);
    return sections.empty() ||
           std::any_of(sections.begin(), sections.end(), [&](std::string_view word) {
             return is(word, section) || is(word, "default") || is(word, "all") ||
                    is(word, "everything");
           });
  };
  std::string text;
  const auto add = [&](std::string_view section, std::string_view lines) {
    if (!wanted(section)) return;
    if (!text.empty()) text += "\r\n";
    text += lines;
  };
  add("server",
      "# Server\r\nredis_version:7.0.0\r\nserver_name:suimon\r\nredis_mode:standalone\r\n");
  std::string clients = "# Clients\r\nconnected_clients:";
  append_number(facts.connections, clients);
  add("clients", clients + "\r\n");
  add("persistence", "# Persistence\r\nloading:0\r\n");
  add("replication", "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n");
  add("cluster", "# Cluster\r\ncluster_enabled:0\r\n");
  add("keyspace", "# Keyspace\r\n");
  append_text(text, client.version, out);
}

void select_command(Words words, RespClient& client, std::string& out) {
  const auto number = parse_number<int>(words[1]);
  if (!number) return append_error("ERR value is not an integer or out of range", out);
  if (*number >= kDatabases) return append_error("ERR DB index is out of range", out);
  client.database = *number;
  append_simple("OK", out);
}

void ping(Words words, std::string& out) {
  if (words.size() > 2) return append_wrong_count("ping", out);
  words.size() == 2 ? append_bulk(words[1], out) : append_simple("PONG", out);
}

}  // namespace

RespCommand find_command(std::string_view word) {
  const CommandRow* row = find_row(word);
  return row == nullptr ? RespCommand::unknown : row->command;
}

bool has_right_count(RespCommand command, Words words) {
  const int arity = command_rows()[static_cast<std::size_t>(command) - 1].arity;
  const auto count = static_cast<int>(words.size());
  return arity >= 0 ? count == arity : count >= -arity;
}

bool may_run(RespCommand command, Words words, const RespClient& client, std::string& out) {
  if (command == RespCommand::unknown) {
    append_unknown(words, out);
    return false;
  }
  const CommandRow& row = command_rows()[static_cast<std::size_t>(command) - 1];
  if (!has_right_count(command, words)) {
    append_wrong_count(row.name, out);
    return false;
  }
  if (!client.proved && !row.before_password) {
    append_error("NOAUTH Authentication required.", out);
    return false;
  }
  return true;
}

void answer_command(RespCommand command, Words words, RespClient& client, const RespFacts& facts,
                    std::string& out) {
  switch (command) {
    case RespCommand::ping:
      return ping(words, out);
    case RespCommand::echo:
      return append_bulk(words[1], out);
    case RespCommand::hello:
      return hello(words, client, facts, out);
    case RespCommand::auth:
      return auth(words, client, facts, out);
    case RespCommand::client:
      return client_command(words, client, out);
    case RespCommand::command:
      return answer_about_commands(words, client, out);
    case RespCommand::config:
      return config_command(words, client, out);
    case RespCommand::info:
      return info_command(words, client, facts, out);
    case RespCommand::select:
      return select_command(words, client, out);
    case RespCommand::reset: {
      RespClient fresh;
      fresh.id = client.id;
      fresh.proved = !facts.password.needed();
      fresh.wrong_passwords = client.wrong_passwords;
      client = std::move(fresh);
      return append_simple("RESET", out);
    }
    case RespCommand::quit:
      client.leaves = true;
      return append_simple("OK", out);
    case RespCommand::unknown:
    case RespCommand::cl_throttle:
    case RespCommand::throttle:
    case RespCommand::suimon_check:
      break;  // not asked here
  }
}

}  // namespace suimon::door
