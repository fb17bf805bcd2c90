// One thread of HTTP/1.1 clients on 127.0.0.1, for bench/http/run, or of Redis clients, for
// bench/doors/resp.
//
//   http_load --port P --request FILE [--connections N] [--seconds S] [--rate R] [--keys K]
//             [--protocol resp] [--pipeline D]
//
// FILE holds the bytes of one request; every "10.100.100.100" in it becomes the address of one of K
// clients (0: of one that has never come before, until 3.8 million are through). Without a rate
// each connection asks again as soon as it has its answer. With one, requests are due at even
// distances, and their latency counts from then, also when no connection was free (so a server that
// stops does not look fast). With a pipeline of D, a connection sends D requests at once and goes
// on when all of their answers are there. Prints one JSON object; errors count as "not_200".
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::string_view kPlace = "10.100.100.100";
constexpr std::uint64_t kAddresses = 156ULL * 156 * 156;  // three bytes of 100 to 255

struct Options {
  std::uint16_t port = 0;
  std::string request;
  std::size_t connections = 32;
  double seconds = 2;
  double rate = 0;
  std::uint64_t keys = 100'000;
  bool resp = false;
  std::size_t pipeline = 1;
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "http_load: %s\n", what);
  std::exit(1);
}

std::int64_t now_ns() {
  std::timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

class Requests {
 public:
  Requests(std::string bytes, std::uint64_t keys) : bytes_(std::move(bytes)), keys_(keys) {
    for (auto at = bytes_.find(kPlace); at != std::string::npos; at = bytes_.find(kPlace, at + 1)) {
      places_.push_back(at);
    }
  }
  std::string_view next() {
    std::uint64_t key = (keys_ == 0 ? count_ : random_()) % (keys_ == 0 ? kAddresses : keys_);
    ++count_;
    std::string address = "10.";
    for (int i = 0; i < 3; ++i, key /= 156) address += std::to_string(100 + key % 156) + ".";
    for (const std::size_t at : places_)
      bytes_.replace(at, kPlace.size(), address, 0, kPlace.size());
    return bytes_;
  }

 private:
  std::string bytes_;
  std::uint64_t keys_;
  std::uint64_t count_ = 0;
  std::vector<std::size_t> places_;
  std::mt19937_64 random_{std::random_device{}()};
};

struct Connection {
  int fd = -1;
  std::string in;
  std::size_t at = 0;       // RESP: what of `in` is counted
  std::size_t missing = 0;  // RESP: lines of the answers under way that have not come
  std::int64_t due = 0;     // of the request under way; 0: none
};

class Load {
 public:
  explicit Load(const Options& options)
      : options_(options), requests_(options.request, options.keys), epoll_(epoll_create1(0)) {
    for (std::size_t i = 0; i < options.connections; ++i) connections_.push_back(open());
    for (Connection& c : connections_) {
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.ptr = &c;
      if (epoll_ctl(epoll_, EPOLL_CTL_ADD, c.fd, &event) != 0) fail("epoll_ctl");
      free_.push_back(&c);
    }
  }

  void run() {
    begin_ = now_ns();
    end_ = begin_ + static_cast<std::int64_t>(options_.seconds * 1e9);
    std::array<epoll_event, 256> events;
    for (std::int64_t now = begin_; now < end_ || free_.size() < connections_.size();
         now = now_ns()) {
      if (now > end_ + 5'000'000'000) fail("answers are missing");
      send_due(now);
      const std::timespec wait = until_next(now);
      const int ready = epoll_pwait2(epoll_, events.data(), 256, &wait, nullptr);
      for (int i = 0; i < ready; ++i) {
        read(*static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr));
      }
    }
    finished_ = now_ns();
  }

  void report() {
    std::sort(latencies_.begin(), latencies_.end());
    const auto at = [&](double share) {
      if (latencies_.empty()) return 0.0;
      const auto place = static_cast<std::size_t>(share * static_cast<double>(latencies_.size()));
      return static_cast<double>(latencies_[std::min(place, latencies_.size() - 1)]) / 1e3;
    };
    std::printf(
        "{\"answers\": %zu, \"not_200\": %zu, \"seconds\": %.3f, \"p50_us\": %.1f, \"p99_us\": "
        "%.1f, \"p999_us\": %.1f, \"max_us\": %.1f}\n",
        latencies_.size() * options_.pipeline, not_200_,
        static_cast<double>(finished_ - begin_) / 1e9, at(0.5), at(0.99), at(0.999), at(1));
  }

 private:
  Connection open() const {
    Connection c;
    c.fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(options_.port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(c.fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0)
      fail("connect");
    const int on = 1;
    ::setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return c;
  }

  std::int64_t due_of(std::uint64_t number) const {
    return begin_ + static_cast<std::int64_t>(static_cast<double>(number) * 1e9 / options_.rate);
  }

  void send_due(std::int64_t now) {
    if (now >= end_) return;
    while (!free_.empty() && (options_.rate == 0 || due_of(sent_) <= now)) {
      Connection& c = *free_.front();
      free_.pop_front();
      c.due = options_.rate == 0 ? now_ns() : due_of(sent_);
      ++sent_;
      batch_.clear();
      for (std::size_t i = 0; i < options_.pipeline; ++i) batch_ += requests_.next();
      const std::string_view bytes = batch_;
      c.missing = options_.pipeline;
      if (::send(c.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(bytes.size())) {
        fail("send");
      }
    }
  }

  std::timespec until_next(std::int64_t now) const {
    std::int64_t wait = 100'000'000;
    if (options_.rate > 0 && !free_.empty() && now < end_) {
      wait = std::clamp<std::int64_t>(due_of(sent_) - now, 0, wait);
    }
    return {0, wait};
  }

  void read(Connection& c) {
    std::array<char, 16384> buffer;
    const auto got = ::recv(c.fd, buffer.data(), buffer.size(), 0);
    if (got <= 0) fail("the server has closed a connection");
    c.in.append(buffer.data(), static_cast<std::size_t>(got));
    if (options_.resp) return read_resp(c);
    const std::size_t head = c.in.find("\r\n\r\n");
    if (head == std::string::npos) return;
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    const std::size_t length = c.in.find(kLength);
    const std::size_t body =
        length < head ? std::strtoull(c.in.c_str() + length + kLength.size(), nullptr, 10) : 0;
    if (c.in.size() < head + 4 + body) return;
    latencies_.push_back(now_ns() - c.due);
    if (c.in.compare(9, 3, "200") != 0) ++not_200_;
    c.in.clear();
    c.due = 0;
    free_.push_back(&c);
  }

  // An answer is a line, or an array of so many; a string within it is a line more.
  void read_resp(Connection& c) {
    for (auto end = c.in.find('\n', c.at); end != std::string::npos; end = c.in.find('\n', c.at)) {
      const char mark = c.in[c.at];
      if (mark == '*') c.missing += std::strtoull(c.in.c_str() + c.at + 1, nullptr, 10);
      if (mark == '$' && c.in[c.at + 1] != '-') ++c.missing;
      if (mark == '-') ++not_200_;
      --c.missing;
      c.at = end + 1;
    }
    if (c.missing != 0) return;
    latencies_.push_back(now_ns() - c.due);
    c.in.clear();
    c.at = 0;
    c.due = 0;
    free_.push_back(&c);
  }

  const Options& options_;
  std::string batch_;
  Requests requests_;
  int epoll_;
  std::vector<Connection> connections_;
  std::deque<Connection*> free_;
  std::vector<std::int64_t> latencies_;
  std::uint64_t sent_ = 0;
  std::size_t not_200_ = 0;
  std::int64_t begin_ = 0, end_ = 0, finished_ = 0;
};

Options read_options(int count, char** words) {
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = words[i];
    const char* value = words[i + 1];
    if (name == "--port") {
      options.port = static_cast<std::uint16_t>(std::atoi(value));
    } else if (name == "--request") {
      std::ifstream file(value, std::ios::binary);
      options.request.assign(std::istreambuf_iterator<char>(file), {});
    } else if (name == "--connections") {
      options.connections = std::strtoull(value, nullptr, 10);
    } else if (name == "--seconds") {
      options.seconds = std::strtod(value, nullptr);
    } else if (name == "--rate") {
      options.rate = std::strtod(value, nullptr);
    } else if (name == "--keys") {
      options.keys = std::strtoull(value, nullptr, 10);
    } else if (name == "--protocol") {
      options.resp = std::string_view(value) == "resp";
    } else if (name == "--pipeline") {
      options.pipeline = std::max<std::size_t>(1, std::strtoull(value, nullptr, 10));
    } else {
      fail("unknown option; see the head of load.cc");
    }
  }
  if (options.port == 0 || options.request.empty()) fail("--port and --request are needed");
  return options;
}

}  // namespace

int main(int count, char** words) {
  const Options options = read_options(count, words);
  Load load(options);
  load.run();
  load.report();
}
