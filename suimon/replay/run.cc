#include "suimon/replay/run.h"

#include <algorithm>

#include "suimon/policy/loader.h"
#include "suimon/replay/report.h"

namespace suimon {
namespace {

constexpr int kGood = 0;
constexpr int kFailed = 1;
constexpr int kWrong = 2;

void warn(const Report& report, std::ostream& err) {
  for (const std::string& reason : report.bad_line_reasons) err << reason << '\n';
  if (report.bad_lines > report.bad_line_reasons.size()) {
    err << "... and " << report.bad_lines - report.bad_line_reasons.size()
        << " more lines that cannot be read\n";
  }
  if (report.overflows > 0) {
    err << "warning: " << report.overflows
        << " charges met a full store and shared a bucket; replay a shorter time\n";
  }
}

}  // namespace

int run_replay(const ReplayOptions& options, std::ostream& out, std::ostream& err) {
  if (options.logs.empty()) {
    err << "replay needs at least one log; \"-\" reads standard input\n";
    return kWrong;
  }
  if (std::count(options.logs.begin(), options.logs.end(), "-") > 1) {
    err << "standard input can be read only once; name \"-\" once\n";
    return kWrong;
  }
  Loaded loaded = load_policy(options.config);
  for (const Mistake& warning : loaded.warnings) err << "warning: " << warning.to_string() << '\n';
  for (const Mistake& mistake : loaded.mistakes) err << mistake.to_string() << '\n';
  if (!loaded.ok()) return kWrong;

  std::vector<LogFile> logs;
  std::uint64_t left = options.most_bytes;
  for (const std::string& path : options.logs) {
    auto log = read_log(path, left);
    if (!log) {
      err << log.error().text << '\n';
      return kFailed;
    }
    left -= log->text.size();
    logs.push_back(*std::move(log));
  }
  const ReplaySettings settings{.domain = "",
                                .secret = options.secret ? *options.secret : random_secret(),
                                .show_keys = options.show_keys};
  auto report = replay(std::move(loaded.policy), logs, settings);
  if (!report) {
    err << options.config << ": " << report.error().text << '\n';
    return kWrong;
  }
  warn(*report, err);
  out << (options.json ? to_json(*report) : to_table(*report)) << std::flush;
  if (!out) {
    err << "the report cannot be written\n";
    return kFailed;
  }
  return kGood;
}

}  // namespace suimon
