// For tests: a redis-server with a configuration of its own that can be killed, stopped and started
// again, and servers on a loop that the test turns by hand.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "suimon/net/fd.h"
#include "suimon/store/redis/open.h"
#include "suimon/store/redis/reply.h"

namespace suimon::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "suimon-redis-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A port that nobody listens on, and whose cluster bus (10,000 higher) is free as well; below those
// that the system gives to outgoing connections.
inline int free_port() {
  static unsigned next = static_cast<unsigned>(::getpid()) * 7919U;
  const auto is_free = [](int port) {
    const net::Fd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<std::uint16_t>(port));
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return ::bind(probe.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
  };
  for (int i = 0; i < 1000; ++i) {
    next = next * 1664525U + 1013904223U;
    const int port = 12'000 + static_cast<int>((next >> 8) % 10'000);
    if (is_free(port) && is_free(port + 10'000)) return port;
  }
  ADD_FAILURE() << "no free port";
  return 0;
}

inline bool until(const std::function<bool()>& condition, std::chrono::seconds deadline) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

class RedisProcess {
 public:
  // `arguments` as redis-server takes them; a port is chosen, and a folder of its own.
  explicit RedisProcess(std::vector<std::string> arguments = {}, const char* server = program())
      : port_(free_port()), program_(server), arguments_(std::move(arguments)) {
    start();
  }
  // A Sentinel; it keeps what it learns in the file that it begins with.
  struct Sentinel {
    std::string configuration;
  };
  static Sentinel sentinel(std::string configuration) { return {std::move(configuration)}; }
  explicit RedisProcess(const Sentinel& sentinel)
      : port_(free_port()), program_(program()), arguments_({"--sentinel"}) {
    const std::string file = folder_.path() + "/sentinel.conf";
    std::ofstream(file) << sentinel.configuration;
    first_ = {file};
    start();
  }
  ~RedisProcess() { kill(); }
  RedisProcess(const RedisProcess&) = delete;
  RedisProcess& operator=(const RedisProcess&) = delete;

  // SUIMON_REDIS_SERVER names another program that is to be tried, such as valkey-server.
  static const char* program() {
    const char* const named = std::getenv("SUIMON_REDIS_SERVER");
    return named != nullptr && *named != '\0' ? named : "redis-server";
  }
  static bool available() {
    return std::system(("command -v '" + std::string(program()) + "' >/dev/null 2>&1").c_str()) ==
           0;
  }

  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  const std::string& folder() const { return folder_.path(); }

  void start() {
    std::vector<std::string> words{program_};
    words.insert(words.end(), first_.begin(), first_.end());
    words.insert(words.end(), {"--port", std::to_string(port_), "--bind", "127.0.0.1", "--dir",
                               folder_.path(), "--logfile", folder_.path() + "/log"});
    if (first_.empty())
      words.insert(words.end(),
                   {"--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"});
    words.insert(words.end(), arguments_.begin(), arguments_.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    EXPECT_TRUE(until([&] { return connect() || ::kill(pid_, 0) != 0; }, std::chrono::seconds(20)));
  }
  void kill() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  void signal(int number) const { ::kill(pid_, number); }

  // One command and its answer as it comes, by a connection of its own.
  std::string ask(const std::vector<std::string>& words) const {
    const net::Fd fd = connect();
    if (!fd) return "no connection";
    std::string text = "*" + std::to_string(words.size()) + "\r\n";
    for (const auto& word : words) {
      text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    if (::write(fd.get(), text.data(), text.size()) < 0) return "lost";
    redis::ReplyReader reader;
    std::string all;
    char bytes[4096];
    for (ssize_t got = 0; (got = ::read(fd.get(), bytes, sizeof bytes)) > 0;) {
      reader.feed({bytes, static_cast<std::size_t>(got)});
      all.append(bytes, static_cast<std::size_t>(got));
      if (reader.next() == redis::ReplyReader::Found::answer) break;
    }
    return all;
  }
  bool says(const std::vector<std::string>& words, std::string_view part) const {
    return ask(words).find(part) != std::string::npos;
  }

 private:
  net::Fd connect() const {
    net::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval patience{.tv_sec = 2, .tv_usec = 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<std::uint16_t>(port_));
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) return {};
    return fd;
  }

  TemporaryFolder folder_;
  int port_;
  std::string program_;
  std::vector<std::string> first_;
  std::vector<std::string> arguments_;
  pid_t pid_ = -1;
};

// One call and what became of it.
struct Heard {
  int times = 0;
  redis::Fate fate = redis::Fate::unknown;
  redis::Value::Type type = redis::Value::Type::nil;
  std::int64_t integer = 0;
  std::string text;
  std::chrono::steady_clock::time_point at;

  redis::Heard hook() {
    return {[](void* context, redis::Fate its_fate, const redis::Value& value) {
              auto& its = *static_cast<Heard*>(context);
              ++its.times;
              its.fate = its_fate;
              its.type = value.type;
              its.integer = value.integer;
              its.text = value.text;
              its.at = std::chrono::steady_clock::now();
            },
            this};
  }
};

// INCRBY KEYS[1] ARGV[1], as a script that has to be loaded.
inline const redis::Script& adding() {
  static const redis::Script script{"return redis.call('INCRBY',KEYS[1],ARGV[1])",
                                    "fb8144401c089a1dbddf5fc7eb24a42b93c7cb92"};
  return script;
}

struct ServersScene {
  explicit ServersScene(const std::string& url, const std::string& password = {}) {
    auto opened = redis::open_servers(url, loop, password);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().text);
    if (opened) servers = std::move(*opened);
  }
  // Adds to a key and turns the loop until that is heard of.
  Heard add(const std::string& key, int amount = 1, std::uint16_t slot = 0) {
    Heard heard;
    begin(key, heard, amount, slot);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (heard.times == 0 && std::chrono::steady_clock::now() < end) loop.poll_once(100);
    EXPECT_EQ(heard.times, 1);
    return heard;
  }
  void begin(std::string_view key, Heard& heard, int amount = 1, std::uint16_t slot = 0) {
    const std::string number = std::to_string(amount);
    const std::string_view keys[] = {key};
    const std::string_view arguments[] = {number};
    servers->run(slot, adding(), keys, arguments, heard.hook());
  }
  // Turns the loop until the condition holds.
  bool turn_until(const std::function<bool()>& condition,
                  std::chrono::milliseconds deadline = std::chrono::seconds(20)) {
    const auto end = std::chrono::steady_clock::now() + deadline;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop.poll_once(5);
    }
    return true;
  }
  // Adds again and again until that works; how many did not.
  int add_until_answered(const std::string& key, std::chrono::milliseconds deadline,
                         std::uint16_t slot = 0) {
    int failed = 0;
    const bool good = turn_until(
        [&] {
          const Heard heard = add(key, 1, slot);
          const bool answered =
              heard.fate == redis::Fate::answered && heard.type == redis::Value::Type::integer;
          failed += answered ? 0 : 1;
          return answered;
        },
        deadline);
    EXPECT_TRUE(good);
    return failed;
  }

  BootClock clock;
  net::Loop loop{clock};
  std::unique_ptr<redis::Servers> servers;
};

}  // namespace suimon::test
