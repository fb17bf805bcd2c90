#include "suimon/net/address.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

namespace suimon::net {
namespace {

namespace fs = std::filesystem;

TEST(ListenAddress, EveryFormIsReadAndWrittenTheSame) {
  for (const std::string text :
       {"127.0.0.1:8080", "[::1]:8080", "localhost:0", "[::]:65535", "unix:/run/suimon.sock",
        "unix:/a?mode=600", "unix:/a?mode=x?mode=660", "off"}) {
    const auto address = parse_listen_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(to_text(*address), text);
  }
  const auto v6 = parse_listen_address("[::1]:8080");
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, 8080);
}

TEST(ListenAddress, MistakesAreNamedWithWhatWouldBeRight) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "has no port"},
      {"8080", "has no port"},
      {"localhost", "has no port"},
      {":8080", "has no host"},
      {"a b:1", "has no host"},
      {"127.0.0.1:", "has a port that is no number"},
      {"127.0.0.1:65536", "has a port that is no number"},
      {"127.0.0.1:80x", "has a port that is no number"},
      {"127.0.0.1:-1", "has a port that is no number"},
      {"::1:8080", "IPv6 address without brackets"},
      {"[]:80", "has no host"},
      {"unix:", "names no path"},
      {"unix:/" + std::string(107, 'x'), "longer than the 107 bytes"},
  };
  for (const auto& [text, why] : cases) {
    const auto address = parse_listen_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_NE(address.error().text.find(why), std::string::npos) << address.error().text;
    EXPECT_NE(address.error().text.find("write host:port"), std::string::npos);
  }
}

TEST(Listener, PortZeroIsReportedAsTheOneThatWasChosen) {
  for (const char* text : {"127.0.0.1:0", "[::1]:0"}) {
    const auto fd = open_listener(*parse_listen_address(text), false);
    if (!fd && std::string_view(text).starts_with('[')) {
      GTEST_SKIP() << "no IPv6 here: " << fd.error().text;
    }
    ASSERT_TRUE(fd) << fd.error().text;
    const auto bound = parse_listen_address(bound_address(*fd));
    ASSERT_TRUE(bound) << bound_address(*fd);
    EXPECT_NE(bound->port, 0);
  }
}

TEST(Listener, LoopsShareAPortAndOthersDoNotGetIt) {
  const auto first = open_listener(*parse_listen_address("127.0.0.1:0"), true);
  ASSERT_TRUE(first);
  const auto address = *parse_listen_address(bound_address(*first));
  EXPECT_TRUE(open_listener(address, true));
  const auto other = open_listener(address, false);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().text.find(to_text(address)), std::string::npos) << other.error().text;
}

TEST(Listener, UnknownHostIsAnErrorAndOffIsNoAddress) {
  EXPECT_FALSE(open_listener(
      {.kind = ListenAddress::Kind::tcp, .host = "203.0.113.1", .port = 0, .path = ""}, false));
  EXPECT_FALSE(open_listener({}, false));
}

class UnixListener : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "suimon-net-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    address_ = *parse_listen_address("unix:" + folder_ + "/s");
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path() const { return folder_ + "/s"; }

  std::string folder_;
  ListenAddress address_;
};

TEST_F(UnixListener, FileHasModeSixSixtyWhateverTheUmask) {
  const mode_t before = ::umask(0);
  auto fd = open_listener(address_, true);
  ::umask(before);
  ASSERT_TRUE(fd) << fd.error().text;
  struct stat file{};
  ASSERT_EQ(::stat(path().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0660u);
  EXPECT_EQ(bound_address(*fd), "unix:" + path());
  EXPECT_TRUE(share(*fd));
}

TEST_F(UnixListener, StaleFileIsReplaced) {
  {
    const auto fd = open_listener(address_, false);
  }
  ASSERT_TRUE(fs::exists(path())) << "a killed process leaves its file";
  const auto again = open_listener(address_, false);
  EXPECT_TRUE(again) << again.error().text;
}

TEST_F(UnixListener, OfManyWhoReplaceAStaleFileAtOnceOneGetsIt) {
  constexpr int kRounds = 100;
  for (int round = 0; round < kRounds; ++round) {
    {
      const auto killed = open_listener(address_, false);
    }
    std::array<std::optional<Fd>, 4> got;
    {
      std::vector<std::jthread> starting;
      for (auto& mine : got) {
        starting.emplace_back([&] {
          if (auto fd = open_listener(address_, false)) mine = std::move(*fd);
        });
      }
    }
    const auto count = std::count_if(got.begin(), got.end(), [](const auto& fd) { return !!fd; });
    ASSERT_EQ(count, 1) << "in round " << round;
    fs::remove(path());
  }
}

TEST_F(UnixListener, FileThatSomebodyListensOnIsLeftAlone) {
  const auto first = open_listener(address_, false);
  ASSERT_TRUE(first);
  const auto second = open_listener(address_, false);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text.find("in use"), std::string::npos) << second.error().text;
  EXPECT_TRUE(fs::exists(path()));
}

TEST_F(UnixListener, OtherFileIsNeverRemoved) {
  std::ofstream(path()) << "precious";
  const auto fd = open_listener(address_, false);
  ASSERT_FALSE(fd);
  EXPECT_NE(fd.error().text.find("is no socket"), std::string::npos) << fd.error().text;
  EXPECT_EQ(fs::file_size(path()), 8u);
}

TEST_F(UnixListener, FileGoesAtTheEndUnlessItIsAnotherOnes) {
  auto fd = open_listener(address_, false);
  {
    const SocketFile file(address_);
  }
  EXPECT_FALSE(fs::exists(path()));

  fd = open_listener(address_, false);
  {
    const SocketFile file(address_);
    fs::rename(path(), path() + ".old");
    fd = open_listener(address_, false);
    ASSERT_TRUE(fd);
  }
  EXPECT_TRUE(fs::exists(path()));
}

TEST(PeerAddress, IsTheClientsAddressInSixteenBytes) {
  sockaddr_storage name{};
  name.ss_family = AF_UNIX;
  EXPECT_EQ(peer_address(name), std::nullopt);
  const auto fd = open_listener(*parse_listen_address("127.0.0.1:0"), false);
  ASSERT_TRUE(fd);
  socklen_t size = sizeof name;
  ASSERT_EQ(::getsockname(fd->get(), reinterpret_cast<sockaddr*>(&name), &size), 0);
  EXPECT_EQ(peer_address(name), parse_address("127.0.0.1"));
}

}  // namespace
}  // namespace suimon::net
