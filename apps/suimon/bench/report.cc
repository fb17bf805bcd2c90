#include "apps/suimon/bench/report.h"

#include <fmt/format.h>

namespace suimon::app::measure {

std::string as_json(const Figures& figures) {
  std::string out = "{";
  for (const Figure& figure : figures.all()) {
    out += fmt::format("\"{}\": {:.1f}, ", figure.name, figure.median());
  }
  out += fmt::format("\"fill_ns\": {:.1f}, \"keys\": {}, \"bytes_per_key\": {:.2f}, ",
                     figures.fill_ns(), figures.keys(), figures.bytes_per_key());
  out += fmt::format("\"evictions\": {}, \"lost\": {}, \"ratios\": {{", figures.pushed_out(),
                     figures.lost());
  for (const Ratio& r : ratios()) {
    out += fmt::format("{}\"{}\": {:.2f}", &r == &ratios().front() ? "" : ", ", r.name,
                       figures.ratio(r));
  }
  return out + "}}\n";
}

std::string as_table(const Figures& figures) {
  std::string out = fmt::format("nanoseconds, medians of {} turns\n", kTurns);
  for (const Figure& figure : figures.all()) {
    out += fmt::format("  {:<44} {:>8.1f}\n", figure.what, figure.median());
  }
  out += "ratios, medians of each turn's own, and what they should stay under on an idle machine\n";
  for (const Ratio& r : ratios()) {
    const double value = figures.ratio(r);
    out += fmt::format("  {:<44} {:>8.2f} {:>8.2f}{}\n", r.what, value, r.most,
                       value > r.most ? "  above" : "");
  }
  const double share =
      100.0 * static_cast<double>(figures.pushed_out()) / static_cast<double>(figures.keys());
  out += fmt::format(
      "{} keys: {:.2f} bytes each, {:.1f} ns to insert one; {} ({:.3f} %) took the place of "
      "another one.\nRead again at the end, {} did not owe what they took: those, and whom they "
      "pushed out when they came back\n",
      figures.keys(), figures.bytes_per_key(), figures.fill_ns(), figures.pushed_out(), share,
      figures.lost());
  return out;
}

}  // namespace suimon::app::measure
