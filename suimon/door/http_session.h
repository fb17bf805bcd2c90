// HTTP/1.1 over a connection: bytes to requests, answers to bytes, in order.
//
// A handler may answer at once or later; until it has, the connection's next request waits. An
// Exchange outlives its connection, so an answer that comes too late is dropped without a trace.
// A connection has a parser only while a request is arriving, so that idle ones cost little.
// Thread rule: everything on the loop's thread.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/base/pool.h"
#include "suimon/door/http_codec.h"
#include "suimon/net/server.h"
#include "suimon/observe/counters.h"

namespace suimon::door {

class HttpSession;

// One request that has been read and is to be answered exactly once.
class Exchange {
 public:
  // `lines` are finished header lines ("Name: value\r\n"...) besides Content-Length, Connection.
  void respond(int status, std::string_view lines, std::string_view body);
  // The same for a request that is wrong in itself: it is counted among the bad ones.
  void refuse(int status, std::string_view lines, std::string_view body);

  // Whom the peer's PROXY header named; nothing when there was none. Only while the request is
  // handled.
  const std::optional<Address>& proxied_client() const;

 private:
  friend class HttpSession;
  friend class HttpServer;

  HttpSession* session_ = nullptr;  // null once the connection is gone
  class HttpServer* server_ = nullptr;
  bool head_ = false;
  bool keep_alive_ = true;
  int minor_ = 1;
};

// What answers requests. The request's views end with the call; a handler copies what it needs.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // Called before the first request of a wake-up.
  virtual void wake(Instant) {}
  virtual void handle(const HttpRequest& request, const std::optional<Address>& peer,
                      Exchange& exchange) = 0;
  // What stands in the body of an error that the codec found (400, 413, 431 ...).
  virtual void append_error(int status, std::string_view reason, std::string& lines,
                            std::string& body) = 0;
};

// One door's HTTP on one loop: a listener and the sessions behind it.
class HttpServer {
 public:
  // `unix_seconds` tells the wall clock's time for the Date field; it is asked once a second.
  HttpServer(net::Loop& loop, net::Fd listener, HttpHandler& handler, const HttpLimits& limits,
             const net::ServerLimits& server_limits, std::time_t (*unix_seconds)(),
             net::Greeting greeting = {});

  // Answers from now on say "Connection: close", and no new connections are accepted.
  void drain();
  // Ends the connections on which nothing is under way.
  void close_idle() { server_.close_idle(); }
  const net::Server& server() const { return server_; }
  // Requests that were wrong in themselves, in the order of kBadStatuses.
  const BadRequests& bad_requests() const { return bad_; }

 private:
  friend class HttpSession;
  friend class Exchange;

  // At most so many parsers wait for bytes; more are made anew.
  static constexpr std::size_t kMostSpareParsers = 64;

  void wake(Instant now);
  std::unique_ptr<HttpParser> lend_parser();
  void give_back(std::unique_ptr<HttpParser> parser);
  void count_bad(int status);

  HttpHandler& handler_;
  HttpLimits limits_;
  std::time_t (*unix_seconds_)();
  Instant woken_ = Instant::min();
  Instant date_until_ = Instant::min();
  std::string date_;
  bool draining_ = false;
  std::string lines_;
  std::string body_;
  BadRequests bad_{};
  Pool<Exchange> exchanges_;
  std::vector<std::unique_ptr<HttpParser>> spare_parsers_;
  net::Server server_;  // last: its sessions use the rest
};

}  // namespace suimon::door
