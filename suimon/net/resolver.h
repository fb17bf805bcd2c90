// Names to addresses, without a loop that waits for a name server.
//
// An address in figures is answered at once; a name goes to a thread of its own, because
// getaddrinfo(3) takes as long as it likes.
// Thread rule: the loop's thread.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "suimon/net/loop.h"

namespace suimon::net {

struct SocketName {
  sockaddr_storage name{};
  socklen_t size = 0;
};

class Resolver {
 public:
  // So many names may be looked up at once in the whole program; the next one is answered "busy".
  static constexpr int kMostThreads = 32;

  // The addresses in the system's order of preference; empty: `why` says why there are none.
  using Heard = std::function<void(std::vector<SocketName> found, std::string why)>;

  explicit Resolver(Loop& loop) : loop_(loop) {}
  ~Resolver() { forget(); }
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Answers once, at once or later, unless forget() or another question comes before.
  void ask(const std::string& host, std::uint16_t port, Heard heard);
  // Nobody hears of the last question.
  void forget();

 private:
  struct Question;
  Loop& loop_;
  std::shared_ptr<Question> question_;
};

}  // namespace suimon::net
