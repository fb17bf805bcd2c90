// A connection that we open: from a name to bytes that go both ways.
//
// It looks the name up, tries its addresses one after the other, shakes hands by TLS where that is
// asked for, and then carries bytes. It does not try again: when is its owner's to say.
// Thread rule: everything on the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/net/fd.h"
#include "suimon/net/loop.h"
#include "suimon/net/resolver.h"
#include "suimon/net/tls.h"

namespace suimon::net {

// Whom to call.
struct Endpoint {
  std::string host;  // a name or an address, without brackets
  std::uint16_t port = 0;
  std::string path;  // not empty: a unix socket, and then there is no host

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// "redis.example:6379", "[::1]:6379", "unix:/path".
std::string to_text(const Endpoint& endpoint);

class ClientConnection final : private Watcher, private TimerTarget {
 public:
  // Who owns a connection must not destroy it within these; it may close() and open() it.
  class Owner {
   public:
    // Bytes can be written from now on.
    virtual void on_open() = 0;
    virtual void on_bytes(std::string_view bytes) = 0;
    // It could not be opened, or it is lost; `why` is for people. It is closed already.
    virtual void on_lost(const std::string& why) = 0;

   protected:
    ~Owner() = default;
  };

  struct Options {
    Duration connect_timeout = std::chrono::seconds(1);  // until on_open(), TLS included
    std::shared_ptr<const Tls> tls;                      // null: plain
    std::string server_name;  // that its certificate must be for; empty: the host
  };

  ClientConnection(Loop& loop, Owner& owner, Options options);
  ~ClientConnection() override { close(); }
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  // Closes what is open, and begins. The owner hears from the loop, never before this returns.
  void open(const Endpoint& endpoint);
  void close();
  bool is_open() const { return stage_ == Stage::open; }

  // Append here what is to be sent, and flush().
  std::string& out() { return out_; }
  // Sends as much as the system takes; the rest follows by itself.
  void flush();
  // Bytes that the system has taken since open(), of all that were appended; still known when the
  // connection is lost.
  std::uint64_t written() const { return written_; }
  std::size_t unsent() const { return out_.size() - out_at_; }

 private:
  enum class Stage : std::uint8_t { closed, looking_up, connecting, handshake, open };

  void on_ready(std::uint32_t events) override;
  void on_timer(Instant now) override;
  void on_addresses(std::vector<SocketName> found, const std::string& why);
  void try_next();
  bool try_one(const SocketName& name);
  void on_connected();
  void shake_hands();
  void opened();
  void receive();
  void send();
  void want(std::uint32_t interest);
  void lose(const std::string& why);

  Loop& loop_;
  Owner& owner_;
  Options options_;
  Resolver resolver_;
  Endpoint endpoint_;
  Stage stage_ = Stage::closed;
  std::vector<SocketName> names_;  // of the endpoint
  std::size_t tried_ = 0;          // of them, in this opening
  std::size_t next_ = 0;           // which one comes next; goes round over several openings
  std::string why_;                // what was wrong with the last one
  Fd fd_;
  std::unique_ptr<TlsStream> tls_;
  std::string out_;  // to send, from out_at_ on
  std::size_t out_at_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t opening_ = 0;  // counts open() and close(): is it still the same connection?
  std::uint32_t interest_ = 0;
  Timers::Id timer_;
};

}  // namespace suimon::net
