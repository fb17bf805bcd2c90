// A redis-server of Debian's for one test program, in a folder of its own; gone with the program.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

#include "suimon/store/redis/open.h"

namespace suimon::test {

inline int connect_to(const std::string& socket) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

class RedisServer {
 public:
  // Null where there is no redis-server.
  static RedisServer* get() {
    static RedisServer server;
    return server.running_ ? &server : nullptr;
  }

  const std::string& socket() const { return socket_; }
  pid_t pid() const { return pid_; }

  // One command in words and its answer as it comes, for what tests look at beside the store.
  std::string ask(std::initializer_list<std::string_view> words) const {
    const int fd = connect_to(socket_);
    std::string text = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string_view word : words) {
      text += "$" + std::to_string(word.size()) + "\r\n" + std::string(word) + "\r\n";
    }
    EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::shutdown(fd, SHUT_WR);
    std::string answer;
    char bytes[4096];
    for (ssize_t got = 0; (got = ::read(fd, bytes, sizeof bytes)) > 0;) {
      answer.append(bytes, static_cast<std::size_t>(got));
    }
    ::close(fd);
    return answer;
  }
  std::int64_t number(std::initializer_list<std::string_view> words) const {
    return std::strtoll(ask(words).c_str() + 1, nullptr, 10);
  }

 private:
  RedisServer() {
    std::string folder = (std::filesystem::temp_directory_path() / "suimon-redis-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) return;
    folder_ = folder;
    socket_ = folder_ + "/socket";
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      ::execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket_.c_str(),
               "--save", "", "--appendonly", "no", "--dir", folder_.c_str(), "--logfile",
               (folder_ + "/log").c_str(), nullptr);
      ::_exit(127);
    }
    owner_ = parent;
    for (int i = 0; i < 500 && !running_; ++i) {
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) return;
      const int fd = connect_to(socket_);
      if (fd >= 0) {
        ::close(fd);
        running_ = true;
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
  }
  ~RedisServer() {
    if (owner_ != ::getpid()) return;  // a child of the test
    if (running_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  std::string folder_;
  std::string socket_;
  pid_t pid_ = -1;
  pid_t owner_ = -1;
  bool running_ = false;
};

// The program's server, as the store sees it.
inline std::unique_ptr<redis::Servers> servers_on(net::Loop& loop, Duration timeout) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  auto servers = redis::open_servers(
      "redis+unix://" + RedisServer::get()->socket() + "?timeout=" + std::to_string(ms) + "ms",
      loop);
  if (!servers) throw std::invalid_argument(servers.error().text);
  return std::move(*servers);
}

}  // namespace suimon::test
