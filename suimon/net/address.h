// Where a door listens: "host:port", "[::1]:8080", "unix:/path", "unix:/path?mode=660" or "off".
//
// Thread rule: values and calls without shared state.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "suimon/base/address.h"
#include "suimon/net/fd.h"
#include "suimon/result.h"

namespace suimon::net {

struct ListenAddress {
  enum class Kind : std::uint8_t { off, tcp, unix_socket };
  Kind kind = Kind::off;
  std::string host;        // tcp: a name or an address, without brackets
  std::uint16_t port = 0;  // tcp: 0 lets the system choose
  std::string path;        // unix_socket
  mode_t mode = 0660;      // of the socket's file

  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

Result<ListenAddress> parse_listen_address(std::string_view text);

// "127.0.0.1:8080", "[::1]:8080", "unix:/path", "unix:/path?mode=600", "off": what
// parse_listen_address would read.
std::string to_text(const ListenAddress& address);

// A listening, non-blocking socket. With `reuse_port` several sockets may share a TCP port, one
// for each loop, and the kernel spreads the connections; a unix socket is one for all loops
// (share() it). A socket file that nobody listens on is replaced.
Result<Fd> open_listener(const ListenAddress& address, bool reuse_port);

// A second descriptor of the same socket.
Result<Fd> share(const Fd& fd);

// The address that a listener is bound to, as to_text() would write it.
std::string bound_address(const Fd& listener);

// The caller's IP address; nothing for a unix socket.
std::optional<Address> peer_address(const sockaddr_storage& peer);

// Removes the file of a unix socket at the end, if it is still the one that was opened.
class SocketFile {
 public:
  explicit SocketFile(const ListenAddress& address);
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;
  ~SocketFile();

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace suimon::net
