// What arrives on a connection of the gRPC door behind the preface, in pieces: it ends or is
// answered, and others are served all the while.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "suimon/door/grpc/grpc_door.h"
#include "suimon/net/address.h"
#include "suimon/policy/loader.h"
#include "suimon/store/reference.h"

namespace {

using namespace suimon;

constexpr std::string_view kPreface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);

void require(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "grpc_fuzz: %s\n", what);
  std::abort();
}

// A door with a policy, on a clock that moves only from input to input.
struct World {
  World()
      : folder(std::filesystem::temp_directory_path() /
               ("suimon-fuzz-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder);
    Loaded loaded = load_policy_text(
        "version: 1\ndomain: shop\nlimits:\n"
        "  - name: a\n    key: [remote_address]\n    token_bucket: {capacity: 5, refill: 1/s}\n"
        "  - name: p\n    match: {path: /v1/**}\n    key: [remote_address]\n"
        "    token_bucket: {capacity: 2, refill: 1/s}\n",
        "p.yaml");
    require(live.install(std::move(loaded.policy), clock.now()).has_value(), "no policy");
    auto listener = net::open_listener(*net::parse_listen_address("unix:" + path()), false);
    require(listener.has_value(), "no listener");
    door = door::open_grpc({loop, engine, counters, 0, ready, clock, password},
                           std::move(*listener), {}, {});
    std::filesystem::path place = folder;
    std::atexit([] { std::filesystem::remove_all(world().folder); });
  }
  static World& world() {
    static World* const only = new World;
    return *only;
  }
  std::string path() const { return (folder / "socket").string(); }

  std::filesystem::path folder;
  ManualClock clock;
  net::Loop loop{clock};
  ReferenceStore store{{}};
  LivePolicy live{store, Secret{{1, 2}}};
  LoopCounters counters;
  Engine engine{live, store, counters, clock};
  std::atomic<bool> ready{true};
  door::RespPassword password;
  std::unique_ptr<door::Door> door;
};

class Peer {
 public:
  explicit Peer(const std::string& path)
      : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    require(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) == 0, "connect");
  }
  bool send(std::string_view bytes) {
    return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  // False once the door has closed.
  bool read() {
    std::array<char, 4096> buffer;
    for (;;) {
      const auto got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
      if (got <= 0) return got < 0 && errno == EAGAIN;
    }
  }
  void shut_down() { ::shutdown(fd_.get(), SHUT_WR); }

 private:
  net::Fd fd_;
};

}  // namespace

// The first byte chooses the pieces, the rest is what arrives.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  World& world = World::world();
  std::string_view in(reinterpret_cast<const char*>(data) + 1, size - 1);
  Peer peer(world.path());
  require(peer.send(kPreface), "the preface is not taken");
  world.loop.poll_once(0);
  std::uint32_t random = data[0];
  bool open = true;
  while (open && !in.empty()) {
    random = random * 1664525 + 1013904223;
    const std::size_t step = data[0] == 0 ? in.size() : 1 + (random >> 16) % 64;
    const std::string_view piece = in.substr(0, step);
    open = peer.send(piece);
    in.remove_prefix(piece.size());
    world.loop.poll_once(0);
    open = open && peer.read();
  }
  // Whatever is unfinished ends when its time is over.
  peer.shut_down();
  for (int i = 0; i < 4; ++i) {
    world.clock.advance(std::chrono::seconds(31));
    world.loop.poll_once(0);
    open = peer.read();
  }
  require(!open, "a connection that its client has left stays");
  require(world.door->server().connections() == 0, "a connection stays");
  return 0;
}
