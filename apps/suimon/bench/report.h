// How suimon bench tells its figures. Pure functions.
#pragma once

#include <string>

#include "apps/suimon/bench/figures.h"

namespace suimon::app::measure {

std::string as_json(const Figures& figures);   // one object, and a line feed
std::string as_table(const Figures& figures);  // for people

}  // namespace suimon::app::measure
