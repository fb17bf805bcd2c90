// suimon bench: decisions in this process against the machine's own floors.
//
// Everything is measured in short turns, one after the other, many times over, and medians are
// shown: so what else runs on the machine meets floors and decisions alike.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "apps/suimon/bench/figures.h"
#include "apps/suimon/bench/report.h"
#include "apps/suimon/commands.h"
#include "suimon/limiter.h"
#include "suimon/table/table.h"

namespace suimon::app {

int bench(const BenchOptions& options) {
  const auto fail = [](const std::string& why) {
    std::cerr << why << '\n';
    return kFailed;
  };
  const std::size_t bytes = table::Memory::bytes_for(table::Size::for_keys(options.keys, 1, 1));
  // The table and as much again for the floors, all of it touched.
  const std::size_t free = static_cast<std::size_t>(::sysconf(_SC_AVPHYS_PAGES)) *
                           static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (2 * bytes > free) {
    return fail(fmt::format("{} keys need {} MiB, and {} MiB are free; ask for fewer --keys",
                            options.keys, bytes >> 19, free >> 20));
  }
  auto region = table::Region::make(bytes, false);
  if (!region) return fail(region.error().text);
  auto two = measure::TwoLimits::make();
  if (!two) return fail(two.error().text);
  auto limiter = Limiter::make({.limit = {100, per_day(1)}, .max_keys = options.keys});
  if (!limiter) return fail(limiter.error().text);
  measure::Figures figures(options.keys, measure::Floors(std::move(*region)), std::move(*two),
                           std::move(*limiter));
  figures.run();
  if (!figures.complete()) {
    return fail("a key was refused that had tokens left: these figures mean nothing");
  }
  std::cout << (options.json ? as_json(figures) : as_table(figures)) << std::flush;
  return kGood;
}

}  // namespace suimon::app
