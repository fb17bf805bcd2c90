#include "suimon/replay/report.h"

#include <gtest/gtest.h>

namespace suimon {
namespace {

Report example() {
  Report report;
  report.requests = 2000;
  report.bad_lines = 3;
  report.allowed = 1999;
  report.refused = 1;
  report.clients = 40;
  report.clients_refused = 1;
  report.first = 804571201;
  report.last = 1709164799;
  report.limits = {{.name = "per-user",
                    .allowed = 1999,
                    .refused = 1,
                    .keys = 40,
                    .keys_refused = 1,
                    .worst = {{"a\"\x1b[31m\xFF", 1}}},
                   {.name = "all", .worst = {}}};
  return report;
}

TEST(ReplayReport, JsonHasEveryFigureAndIsValid) {
  EXPECT_EQ(to_json(example()),
            "{\"requests\": 2000, \"bad_lines\": 3, \"allowed\": 1999, \"refused\": 1, "
            "\"bad_paths\": 0, \"too_many_limits\": 0, \"overflows\": 0, \"clients\": 40, "
            "\"clients_refused\": 1, \"first\": \"1995-07-01T04:00:01Z\", "
            "\"last\": \"2024-02-28T23:59:59Z\", \"limits\": [{\"name\": \"per-user\", "
            "\"allowed\": 1999, \"refused\": 1, \"keys\": 40, \"keys_refused\": 1, "
            "\"worst\": [{\"key\": \"a\\\"\\u001b[31m\xEF\xBF\xBD\", \"refused\": 1}]}, "
            "{\"name\": \"all\", \"allowed\": 0, \"refused\": 0, \"keys\": 0, "
            "\"keys_refused\": 0, \"worst\": []}]}\n");
}

TEST(ReplayReport, NothingReplayedHasNoTimes) {
  EXPECT_NE(to_json({}).find("\"first\": null, \"last\": null, \"limits\": []}"),
            std::string::npos);
  EXPECT_NE(to_table({}).find("requests                       0\n"), std::string::npos);
}

TEST(ReplayReport, TableSaysTheSameToPeople) {
  EXPECT_EQ(to_table(example()),
            "requests                    2000  1995-07-01T04:00:01Z to 2024-02-28T23:59:59Z\n"
            "allowed                     1999  over 99.9 %\n"
            "refused                        1  under 0.1 %\n"
            "clients                       40\n"
            "clients refused                1  2.5 %\n"
            "bad lines                      3\n"
            "\n"
            "limit        allowed     refused        keys keys refused\n"
            "per-user        1999           1          40            1\n"
            "all                0           0           0            0\n"
            "\n"
            "most refused by per-user\n"
            "           1  a\\\"\\u001b[31m\xEF\xBF\xBD\n");
}

TEST(ReplayReport, TableExplainsWhatWasNotDecided) {
  Report report;
  report.bad_paths = 2;
  report.too_many_limits = 3;
  report.overflows = 4;
  const std::string table = to_table(report);
  EXPECT_NE(table.find("bad paths                      2  not decided"), std::string::npos);
  EXPECT_NE(table.find("too many limits                3  not decided"), std::string::npos);
  EXPECT_NE(table.find("shared buckets                 4  charges that met"), std::string::npos);
}

}  // namespace
}  // namespace suimon
