// TLS 1.2 and 1.3 by OpenSSL, on sockets that were accepted or that we have opened.
//
// A Tls is what a server or a client shows and asks for, read from PEM files and never changed
// afterwards; a LiveTls holds the one in force, so that new connections see a renewed certificate
// and old ones keep theirs. A TlsStream is one connection's side: it reads and writes like recv(2)
// and send(2). Renegotiation, compression and early data are off. Thread rule: Tls is immutable and
// shared; LiveTls may be used by any thread; a TlsStream belongs to its connection's loop. SIGPIPE
// must be ignored: OpenSSL writes with write(2).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "suimon/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace suimon::net {

// PEM files. A certificate file holds the server's certificate and those between it and the root.
struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string client_ca;  // not empty: a client must show a certificate that one of these signed
};

// PEM files of a client. A server must always show a certificate for its name that is signed.
struct TlsClientFiles {
  std::string ca;           // by one of these; empty: by one that the system trusts
  std::string certificate;  // what the client shows; empty: nothing, and then there is no key
  std::string key;
};

class Tls {
 public:
  // Reads the files. The error names the file, what is wrong with it and the cure.
  static Result<std::shared_ptr<const Tls>> load(const TlsFiles& files);
  static Result<std::shared_ptr<const Tls>> load_client(const TlsClientFiles& files);

  // Until when the certificate that is shown is valid, in Unix seconds; 0: none is.
  std::int64_t valid_until() const { return valid_until_; }

 private:
  friend class TlsStream;
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };

  std::unique_ptr<ssl_ctx_st, Free> context_;
  std::int64_t valid_until_ = 0;
};

class LiveTls {
 public:
  void install(std::shared_ptr<const Tls> tls) {
    const std::lock_guard lock(mutex_);
    current_ = std::move(tls);
  }
  std::shared_ptr<const Tls> current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Tls> current_;
};

class TlsStream {
 public:
  // Where read() gets less room than this, bytes could stay behind that no epoll tells of.
  static constexpr std::size_t kLeastRoom = 16 << 10;  // of one record (RFC 8446 section 5.1)

  // `protocols` is what ALPN (RFC 7301) may choose from, each name behind its length
  // ("\x8http/1.1",
  // "\2h2"); a client that offers only others is refused. Empty: ALPN is not answered.
  TlsStream(const Tls& tls, int fd, std::string_view protocols);
  // The client's side, towards the server of this name or address.
  struct ServerName {
    std::string text;
  };
  TlsStream(const Tls& tls, int fd, const ServerName& server);
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  enum class Handshake : std::uint8_t { done, going_on, failed };
  // Goes on with the handshake as far as the bytes that have come allow.
  Handshake shake_hands();
  // Why the handshake failed, or after it a read or write with EPROTO; for people.
  const std::string& mistake() const { return mistake_; }

  // As recv(2) and send(2) on a non-blocking socket, errno included; 0 from read() means that the
  // other side has said goodbye. After EPROTO only close() makes sense. What a write() could not
  // send must stand at the beginning of the next.
  ssize_t read(std::span<char> room);
  ssize_t write(std::string_view bytes);

  // Whether the last step waits for the socket to take bytes, and not to bring some.
  bool wants_output() const { return wants_output_; }

  // Tells the other side that no more comes, once. Nothing is read or written afterwards.
  void say_goodbye();

 private:
  friend class Tls;
  struct Free {
    void operator()(ssl_st* stream) const;
  };
  static void answer_protocols(ssl_ctx_st* context);
  ssize_t outcome(int result);

  std::unique_ptr<ssl_st, Free> stream_;
  std::string_view protocols_;
  std::string mistake_;
  bool wants_output_ = false;
  bool over_ = false;  // broken, or goodbye is said
};

}  // namespace suimon::net
