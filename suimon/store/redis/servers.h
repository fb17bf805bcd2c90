// Redis or Valkey servers as one place where scripts run: one server, one that Sentinels name, or
// a cluster.
//
// Whoever calls knows scripts and slots, and nothing of connections: those are dialled, watched and
// dialled again behind this. Servers belong to one event loop.
// Thread rule: everything on the loop's thread; counters() may be read by any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "suimon/net/loop.h"
#include "suimon/result.h"

namespace suimon::redis {

// An answer, parsed. Maps are arrays of keys and values by turns, booleans are 0 or 1, doubles and
// big numbers stay text. What it points to lives while Heard::run runs.
struct Value {
  enum class Type : std::uint8_t { nil, text, integer, array, error };
  Type type = Type::nil;
  std::int64_t integer = 0;
  std::string_view text;  // of an error, too: "ERR unknown command"
  std::span<const Value> elements;
};

// What became of a call.
enum class Fate : std::uint8_t {
  answered,  // the server's word, which may be an error that it raised itself
  not_run,   // it certainly did nothing: not sent, or refused by who must not or cannot run it
  unknown,   // it was sent and no answer came: it may have run, now or later
};

// Who hears of a call: a function and its context. When the fate is not `answered`, the value is an
// error whose text says why, for people.
struct Heard {
  void (*run)(void* context, Fate fate, const Value& value) = nullptr;
  void* context = nullptr;
};

struct Script {
  std::string text;
  std::string sha1;  // of the text, 40 digits in hex
};

// Counted since the servers were opened.
struct Counters {
  std::atomic<std::uint64_t> connects{0};       // connections that were ready to be used
  std::atomic<std::uint64_t> failures{0};       // connections that failed or were lost
  std::atomic<std::uint64_t> timeouts{0};       // calls without an answer in time, sent or not
  std::atomic<std::uint64_t> redirects{0};      // calls sent on by MOVED and ASK
  std::atomic<std::uint64_t> script_loads{0};   // SCRIPT LOADs, after NOSCRIPT
  std::atomic<std::uint64_t> refused{0};        // calls not sent: breaker open, or no place left
  std::atomic<std::uint64_t> breakers_open{0};  // links by which nothing is sent now (a gauge)
};

class Servers {
 public:
  // Calls that are under way at once, at most; one more is answered not_run.
  static constexpr std::size_t kMostCalls = 16'384;

  // Forgets the calls that are under way: nobody hears of them any more. Not for use within
  // Heard::run.
  virtual ~Servers() = default;

  // Runs a script (by EVALSHA; it is loaded where it is missing) at the server that holds `slot`,
  // 0 to 16383; a single server ignores it. `keys` and `arguments` are copied; `script` must live
  // until the answer. Hears exactly once, from the loop and never before this returns, within the
  // time-out of the URL (counted from this call, whatever happens meanwhile). Calls that are made
  // in one wake-up leave in one write per server, in their order; calls of one slot are run in it,
  // unless a server refuses one for the time being.
  virtual void run(std::uint16_t slot, const Script& script, std::span<const std::string_view> keys,
                   std::span<const std::string_view> arguments, Heard heard) = 0;

  // Whether all keys of a script must lie in its slot.
  virtual bool clustered() const = 0;

  virtual const Counters& counters() const = 0;
};

}  // namespace suimon::redis
