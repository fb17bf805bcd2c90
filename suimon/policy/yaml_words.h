// Syntax mistakes of YAML in words that help whoever wrote the file.
#pragma once

#include <yaml.h>

#include <string_view>

#include "suimon/policy/mistakes.h"

namespace suimon {

// A place as libyaml tells it.
Place place_of(const yaml_mark_t& mark);

// Adds the mistake at which `parser` has stopped. `text` is what it was reading.
void add_syntax_mistake(const yaml_parser_t& parser, std::string_view text, Mistakes& mistakes);

}  // namespace suimon
