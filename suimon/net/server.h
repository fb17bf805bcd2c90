// Accepts connections on one loop and carries bytes between them and their sessions.
//
// The server knows sockets and time, a Session knows a protocol. Reading goes through the loop's
// scratch space: bytes that a session consumes at once are never copied, the rest waits in a
// buffer that exists only while it is needed.
// Thread rule: everything on the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/base/address.h"
#include "suimon/net/fd.h"
#include "suimon/net/loop.h"
#include "suimon/net/timers.h"
#include "suimon/net/tls.h"
#include "suimon/time.h"

namespace suimon::net {

class Connection;
class Server;

// One protocol's side of one connection. It lives as long as its Connection.
class Session {
 public:
  virtual ~Session() = default;
  // Bytes have arrived: consumes a prefix of `in` and returns its length; what is left is offered
  // again with more behind it (or at once, when something was consumed).
  virtual std::size_t on_bytes(std::string_view in, Connection& connection) = 0;
  // A request has begun and its rest did not come in time; called once, and then the connection
  // ends. What stands in out() is still sent if the session calls close_after_flush().
  virtual void on_timeout(Connection&) {}
  // The connection is gone; called once. Answers that arrive later have nowhere to go.
  virtual void on_close() {}
  // In the place of a PROXY header came something else, and `mistake` says what: the last chance to
  // tell the client. Nothing else is called before it, and nothing but on_close() after it.
  virtual void on_bad_proxy_header(std::string_view /*mistake*/, Connection& /*connection*/) {}
  // No request is under way, so that nobody loses anything when the connection is closed.
  virtual bool idle() const = 0;
};

using SessionFactory = std::function<std::unique_ptr<Session>(Connection&)>;

// What stands before a protocol's own bytes on a connection. The session begins after it.
struct Greeting {
  // Whether the connection of this peer must begin with a PROXY header (proxy_protocol.h). Asked
  // once for every connection; empty: none must.
  std::function<bool(const std::optional<Address>& peer)> proxied;
  const LiveTls* tls = nullptr;  // then a TLS handshake; null: plain
  std::string_view protocols;    // that ALPN chooses from, as TlsStream takes them
};

struct ServerLimits {
  std::size_t max_connections = 16'384;        // on this loop; more are closed when they come
  std::size_t max_greetings = 4'096;           // of those, connections whose greeting is not over
  std::size_t max_in_bytes = 2 << 20;          // bytes that a session has not consumed yet
  std::size_t max_buffered_bytes = 256 << 20;  // of all connections; the large ones go beyond it
  std::size_t max_out_bytes = 4 << 20;         // with so much unsent, a client is not read any more
  std::size_t turn_bytes = 256 << 10;  // that one turn of a connection answers before the others'
  Duration header_timeout = std::chrono::seconds(10);  // for a request's bytes, and for a greeting
  Duration idle_timeout = std::chrono::seconds(60);    // between requests
  Duration write_timeout = std::chrono::seconds(30);   // a client takes no byte of its answer
  Duration linger_timeout = std::chrono::seconds(2);   // after the last answer, for its arrival
};

// One accepted socket.
class Connection final : private Watcher, private TimerTarget {
 public:
  Connection(Server& server, Fd fd, const std::optional<Address>& peer);
  ~Connection() override;

  // Append here what is to be sent. It goes out when on_bytes returns, or with flush().
  std::string& out();
  // Sends what is in out(); for answers that come later than on_bytes.
  void flush();
  // Sends what is in out(), hands over no more bytes and closes: the sending side first, then, when
  // the client has closed its own (or after linger_timeout), the rest; so it reads an answer where
  // a plain close would have reset the connection.
  void close_after_flush();
  // Closes now. The connection and its session live until the end of the wake-up.
  void close();

  // Stops and goes on handing over bytes, while a decision is under way elsewhere. resume() never
  // calls the session itself; the loop does, before it sleeps again.
  void pause() { paused_ = true; }
  void resume();

  // Who is connected; nothing for a unix socket.
  const std::optional<Address>& peer() const { return peer_; }
  // For whom the peer is connected, as its PROXY header said; nothing when there was none, or when
  // the peer speaks for itself.
  const std::optional<Address>& proxied_client() const { return proxied_client_; }
  Loop& loop();

 private:
  friend class Server;
  // What the connection waits for; each has its own timeout (a decision has none here).
  enum class Wait : std::uint8_t {
    decision,
    rest_of_request,
    request,
    client_reads,
    client_closes
  };

  // How far the greeting has come.
  enum class Stage : std::uint8_t { proxy_header, handshake, session };

  void on_ready(std::uint32_t events) override;
  void on_timer(Instant now) override;
  void begin();
  void open_session();
  void greet();
  void read_proxy_header();
  void refuse_proxy_header(std::string_view mistake);
  void shake_hands();
  void end_greeting();
  void settle_greeting();
  bool greeting() const { return stage_ != Stage::session && !closing_; }
  bool wants_output() const { return unsent() > 0 || (tls_ && tls_->wants_output()); }
  void receive();
  std::size_t hand_over(std::string_view in);
  void offer_leftover();
  void send();
  void settle();
  bool account();
  void set_interest(std::uint32_t interest);
  void wait_for(Wait wait, bool anew);
  Duration timeout(Wait wait) const;
  std::size_t unsent() const { return out_.size() - out_at_; }
  bool full() const;
  bool is_idle() const {
    if (greeting()) return true;
    return unsent() == 0 && in_.empty() && !closing_ && session_->idle();
  }
  bool wants_input() const;

  Server& server_;
  Fd fd_;
  std::unique_ptr<TlsStream> tls_;    // null: plain
  std::unique_ptr<Session> session_;  // null during the greeting
  std::string in_;                    // what the session has left; no memory when there is nothing
  std::string out_;                   // to send, from out_at_ on; no memory when there is nothing
  std::size_t out_at_ = 0;
  std::size_t drained_ = 0;   // bytes thrown away since closing_
  std::size_t index_ = 0;     // place in the server's list
  std::size_t buffered_ = 0;  // what of server_.buffered_ is ours
  std::optional<Address> peer_;
  std::optional<Address> proxied_client_;
  Instant deadline_ = Instant::max();
  Timers::Id timer_;  // armed at or before deadline_: moving a deadline back costs nothing
  std::uint32_t interest_ = 0;
  Wait wait_ = Wait::decision;
  Stage stage_ = Stage::session;
  bool consumed_ = false;    // since the last settle()
  bool sent_ = false;        // since the last settle()
  bool in_session_ = false;  // on_bytes is on the call stack
  bool paused_ = false;
  bool held_back_ = false;  // the rest of in_ waits: out_ is full, or the turn was long enough
  bool resumed_ = false;    // in the server's list of connections to go on with
  bool ended_ = false;      // the client sends no more
  bool closing_ = false;    // nothing is handed over any more
  bool lingering_ = false;  // all is sent and our side is shut
  bool closed_ = false;
};

class Server final : private Watcher, private TimerTarget {
 public:
  // Starts to accept at once. `listener` comes from open_listener().
  Server(Loop& loop, Fd listener, SessionFactory sessions, const ServerLimits& limits,
         Greeting greeting = {});
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::size_t connections() const { return connections_.size(); }
  // No new connections: the listener is closed.
  void stop_accepting();
  // For a drain: takes those that wait to be accepted already, then stop_accepting().
  void finish_accepting();
  // For a drain: reads once more from connections that are idle and ends those that still are. A
  // session that is not idle ends with its answer (close_after_flush), which is the protocol's to
  // say.
  void close_idle();
  // Closes everything, in the middle of whatever it is.
  void close_all();

  std::uint64_t accepted() const { return accepted_; }
  std::uint64_t refused() const { return refused_; }                  // no place or buffer left
  std::uint64_t timed_out() const { return timed_out_; }              // closed by a timeout
  std::uint64_t accept_failures() const { return accept_failures_; }  // as with no descriptor left
  std::uint64_t failed_greetings() const { return failed_greetings_; }  // no TLS or PROXY header

  Loop& loop() { return loop_; }

 private:
  friend class Connection;
  void on_ready(std::uint32_t events) override;
  void on_timer(Instant now) override;
  void welcome(Fd fd, const std::optional<Address>& peer);
  bool accept_some();
  void accept_later();
  void go_on_with(Connection& connection);
  void remove(Connection& connection);
  bool may_shake_hands();

  Loop& loop_;
  Fd listener_;
  SessionFactory sessions_;
  ServerLimits limits_;
  Greeting greeting_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> resumed_;   // each has its resumed_ set
  std::vector<Connection*> going_on_;  // swapped with resumed_, so both keep their room
  std::string spare_;                  // an empty output buffer with room, lent to who writes next
  Timers::Id resume_timer_;
  Timers::Id accept_timer_;
  std::size_t buffered_ = 0;           // bytes in the buffers of all connections
  std::size_t greetings_ = 0;          // connections whose greeting is not over
  std::uint64_t handshakes_wake_ = 0;  // the wake-up that handshakes_ counts in
  unsigned handshakes_ = 0;            // steps of handshakes in that wake-up
  std::uint64_t accepted_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t timed_out_ = 0;
  std::uint64_t accept_failures_ = 0;
  std::uint64_t failed_greetings_ = 0;
};

inline Loop& Connection::loop() { return server_.loop(); }

}  // namespace suimon::net
