// What CLI11 is told beyond its own: the words that a flag takes, and what mistakes are called.
//
// Thread rule: the main thread, while it reads the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace suimon::app {

// A whole number from 0 to 2^64 - 1, written as one.
extern const CLI::Validator kWholeNumber;

// A word of a list, and which one it is.
CLI::Validator one_of(std::span<const std::string_view> words);
template <class Enum>
Enum choice(const std::string& word, std::span<const std::string_view> words) {
  return static_cast<Enum>(std::find(words.begin(), words.end(), word) - words.begin());
}

// --config is required, but checked by us: CLI11 would say so before it names a misspelt flag.
CLI::Option* config_option(CLI::App& command, std::string& config);
bool has_config(const std::string& config);

// Has each command look at its own environment variables only. Otherwise CLI11 reads those of all
// commands, and a mistake in one for `serve` would keep an operator from `top`.
void keep_environments_apart(CLI::App& app);

// Says that there is none, or that it is not known, and which was probably meant. The exit code.
int no_command(const CLI::App& app);

// " (from the environment: SUIMON_THREADS)" when the option that a message begins with was not on
// the command line, so that nobody looks for the mistake there.
std::string source_of(const CLI::App& app, int argc, char** argv, const std::string& message);

// How an attribute is written, when one was written like a flag; else "".
std::string dashes_hint(const CLI::App& app);

}  // namespace suimon::app
