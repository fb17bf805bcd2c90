// The story of a wrong run, for people: who did what, in a line for each time that another thread
// went on.
//
// Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

#include "tests/model/explorer.h"
#include "tests/model/scenario.h"

namespace suimon::model {

std::string told(const std::vector<Move>& story, Explorer& explorer, World& world);

}  // namespace suimon::model
