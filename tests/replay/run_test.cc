#include "suimon/replay/run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/replay/scenes.h"

namespace suimon {
namespace {

using namespace replay_tests;

constexpr std::string_view kPolicy =
    "version: 1\n"
    "domain: shop\n"
    "limits:\n"
    "  - name: per-address\n"
    "    key: [client_ip]\n"
    "    token_bucket: {capacity: 1, refill: 1/min}\n";

// A folder of its own for each test, with a policy in it.
class RunReplay : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "suimon-replay-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    options_.config = file("limits.yaml", kPolicy);
    options_.json = true;
    options_.show_keys = true;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, std::string_view text) {
    const auto path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  int run() {
    out_.str("");
    err_.str("");
    return run_replay(options_, out_, err_);
  }

  std::filesystem::path folder_;
  ReplayOptions options_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(RunReplay, GoodFilesGiveAReportAndExitCodeZero) {
  options_.logs = {file("a.log", line("192.0.2.1", 1)), file("b.log", line("192.0.2.1", 0))};
  EXPECT_EQ(run(), 0) << err_.str();
  EXPECT_EQ(err_.str(), "");
  EXPECT_EQ(out_.str(),
            "{\"requests\": 2, \"bad_lines\": 0, \"allowed\": 1, \"refused\": 1, \"bad_paths\": 0, "
            "\"too_many_limits\": 0, \"overflows\": 0, \"clients\": 1, \"clients_refused\": 1, "
            "\"first\": \"2024-03-01T12:00:00Z\", \"last\": \"2024-03-01T12:00:01Z\", "
            "\"limits\": [{\"name\": \"per-address\", \"allowed\": 1, \"refused\": 1, \"keys\": 1, "
            "\"keys_refused\": 1, \"worst\": [{\"key\": \"192.0.2.1\", \"refused\": 1}]}]}\n");
  options_.json = false;
  EXPECT_EQ(run(), 0);
  EXPECT_TRUE(out_.str().starts_with("requests  ")) << out_.str();
}

TEST_F(RunReplay, KeysStayHiddenUnlessAskedFor) {
  options_.logs = {file("a.log", line("192.0.2.1", 1) + line("192.0.2.1", 1))};
  options_.show_keys = false;
  EXPECT_EQ(run(), 0);
  EXPECT_EQ((out_.str() + err_.str()).find("192.0.2"), std::string::npos) << out_.str();
}

TEST_F(RunReplay, StandardInputIsALog) {
  const std::string path = file("in.log", line("192.0.2.1", 1));
  const int saved = ::dup(STDIN_FILENO);
  const int input = ::open(path.c_str(), O_RDONLY);
  ASSERT_GE(::dup2(input, STDIN_FILENO), 0);
  ::close(input);
  options_.logs = {"-"};
  EXPECT_EQ(run(), 0) << err_.str();
  if (saved >= 0) {
    ::dup2(saved, STDIN_FILENO);
    ::close(saved);
  }
  EXPECT_TRUE(out_.str().starts_with("{\"requests\": 1, ")) << out_.str();
  options_.logs = {"-", "-"};
  EXPECT_EQ(run(), 2);
  EXPECT_EQ(err_.str(), "standard input can be read only once; name \"-\" once\n");
}

TEST_F(RunReplay, BadLinesAreNamedAndDoNotFail) {
  std::string text;
  for (int i = 0; i < 12; ++i) text += "x\n";
  options_.logs = {file("a.log", text + line("192.0.2.1", 1))};
  EXPECT_EQ(run(), 0);
  EXPECT_NE(out_.str().find("\"bad_lines\": 12,"), std::string::npos);
  EXPECT_TRUE(err_.str().starts_with(options_.logs[0] + ":1: column 2: expected a space"))
      << err_.str();
  EXPECT_TRUE(err_.str().ends_with("\n... and 2 more lines that cannot be read\n")) << err_.str();
}

TEST_F(RunReplay, LogThatCannotBeReadIsExitCodeOne) {
  options_.logs = {(folder_ / "none.log").string()};
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(err_.str(), options_.logs[0] + ": cannot be read: No such file or directory\n");
  options_.logs = {folder_.string()};
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(err_.str(), folder_.string() + ": cannot be read: Is a directory\n");
  EXPECT_EQ(out_.str(), "");
}

TEST_F(RunReplay, CompressedLogSaysHowToPipeIt) {
  options_.logs = {file("a.log.gz", "\x1f\x8b\x08 and so on")};
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(err_.str(), options_.logs[0] +
                            ": compressed logs are not read in this version; pipe the text in, as "
                            "in zcat access.log.gz | suimon replay --config FILE -\n");
}

TEST_F(RunReplay, LogsAreBoundedTogether) {
  const std::string text = line("192.0.2.1", 1);
  options_.logs = {file("a.log", text), file("b.log", text)};
  options_.most_bytes = 2 * text.size();
  EXPECT_EQ(run(), 0) << err_.str();
  options_.most_bytes = 2 * text.size() - 1;
  EXPECT_EQ(run(), 1);
  EXPECT_TRUE(err_.str().starts_with(options_.logs[1] + ": the logs together are longer than "))
      << err_.str();
}

TEST_F(RunReplay, WrongPolicyIsExitCodeTwoAndSaysWhere) {
  options_.logs = {file("a.log", line("192.0.2.1", 1))};
  options_.config =
      file("bad.yaml", "version: 1\ndomain: shop\nlimits:\n  - name: a\n    kee: []\n");
  EXPECT_EQ(run(), 2);
  EXPECT_NE(err_.str().find(options_.config + ":5:5: "), std::string::npos) << err_.str();
  EXPECT_EQ(out_.str(), "");
  options_.config = (folder_ / "none.yaml").string();
  EXPECT_EQ(run(), 2);
  EXPECT_NE(err_.str(), "");
}

TEST_F(RunReplay, NoLogIsExitCodeTwo) {
  EXPECT_EQ(run(), 2);
  EXPECT_EQ(err_.str(), "replay needs at least one log; \"-\" reads standard input\n");
}

TEST_F(RunReplay, ReportThatCannotBeWrittenIsExitCodeOne) {
  options_.logs = {file("a.log", line("192.0.2.1", 1))};
  out_.setstate(std::ios::badbit);
  EXPECT_EQ(run_replay(options_, out_, err_), 1);
  EXPECT_EQ(err_.str(), "the report cannot be written\n");
}

}  // namespace
}  // namespace suimon
