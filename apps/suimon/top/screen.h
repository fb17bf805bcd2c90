// What suimon top shows, as text. Pure functions.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "apps/suimon/top/figures.h"

namespace suimon::app {

struct ScreenSize {
  std::size_t columns = 100;
  std::size_t rows = 1000;
};

// One screen, a line each, cut to the size. What came from the network is shown with "?" in the
// place of everything that a terminal could take for a command.
std::string screen_of(const Figures& figures, const Rates& rates, std::string_view server,
                      std::time_t now, const ScreenSize& size);

// The same as one JSON object.
std::string json_of(const Figures& figures, const Rates& rates);

}  // namespace suimon::app
