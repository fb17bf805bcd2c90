#include "suimon/policy/text_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>

namespace suimon {
namespace {

namespace fs = std::filesystem;

TEST(TextFile, APipeWhoseWriterNeverEndsIsGivenUp) {
  std::string folder = (fs::temp_directory_path() / "suimon-text-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/limits.yaml";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const int writer = ::open(path.c_str(), O_RDWR | O_NONBLOCK);
  ASSERT_GE(writer, 0);
  // A byte as soon as the last one was read.
  std::atomic<bool> over{false};
  std::thread drip([&] {
    for (int waiting = 0; !over; ::ioctl(writer, FIONREAD, &waiting)) {
      if (waiting == 0 && ::write(writer, "#", 1) < 0) break;
    }
  });
  std::string text;
  EXPECT_EQ(read_text_file(path, text), ETIMEDOUT);
  over = true;
  drip.join();
  ::close(writer);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace suimon
