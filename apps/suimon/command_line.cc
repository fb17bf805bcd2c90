#include "apps/suimon/command_line.h"

#include <cstdint>
#include <iostream>
#include <vector>

#include "apps/suimon/commands.h"
#include "suimon/base/text.h"

namespace suimon::app {
namespace {

// "servee" for "serve": the command that was probably meant, or "".
std::string probably_meant(const CLI::App& app, const std::string& word) {
  for (const CLI::App* command : app.get_subcommands({})) {
    const std::string& name = command->get_name();
    if (word.starts_with(name.substr(0, 3)) || name.starts_with(word)) return name;
  }
  return {};
}

}  // namespace

// CLI11 would take "-1" for 2^64 - 1.
// NOLINTNEXTLINE(cert-err58-cpp): nothing runs yet that could be told
const CLI::Validator kWholeNumber(
    [](std::string& text) {
      const bool good =
          parse_number<std::uint64_t>(text) && (text.size() == 1 || text.front() != '0');
      return good ? std::string() : "\"" + text + "\" is no whole number from 0 to 2^64 - 1";
    },
    "UINT", "whole number");

bool has_config(const std::string& config) {
  if (!config.empty()) return true;
  std::cerr << "--config is required: the policy, a file or a directory of them\n";
  return false;
}

int no_command(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  if (words.empty()) {
    std::cerr << "a command is missing; suimon --help lists them\n";
    return kWrongUsage;
  }
  if (words.front().starts_with('-')) {
    std::cerr << "unknown flag " << words.front() << "; suimon --help lists them\n";
    return kWrongUsage;
  }
  const std::string meant = probably_meant(app, words.front());
  std::cerr << "unknown command \"" << words.front() << "\""
            << (meant.empty() ? "; suimon --help lists them" : "; did you mean " + meant + "?")
            << '\n';
  return kWrongUsage;
}

CLI::Option* config_option(CLI::App& command, std::string& config) {
  return command.add_option("--config", config, "the policy: a file, or a directory of them")
      ->envname("SUIMON_CONFIG");
}

CLI::Validator one_of(std::span<const std::string_view> words) {
  return CLI::Validator(
      [words](std::string& word) {
        if (std::find(words.begin(), words.end(), word) != words.end()) return std::string();
        std::string known;
        for (const std::string_view one : words)
          known.append(known.empty() ? "" : ", ").append(one);
        return "\"" + word + "\" is not known; write " + known;
      },
      "WORD");
}

void keep_environments_apart(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) command->parse_complete_callback([] {});
}

std::string source_of(const CLI::App& app, int argc, char** argv, const std::string& message) {
  const std::string flag = message.substr(0, message.find(':'));
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with(flag)) return {};
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    const CLI::Option* option = command->get_option_no_throw(flag);
    if (command->parsed() && option != nullptr && !option->get_envname().empty()) {
      return " (from the environment: " + option->get_envname() + ")";
    }
  }
  return {};
}

std::string dashes_hint(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    if (command->get_option_no_throw("attributes") == nullptr) continue;
    for (const std::string& word : command->remaining()) {
      if (!word.starts_with("--") || word.find('=') == std::string::npos) continue;
      return "If that is an attribute, write it without dashes: " + word.substr(2) + "\n";
    }
  }
  return {};
}

}  // namespace suimon::app
