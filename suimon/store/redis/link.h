// One connection to one server: commands go out in a pipeline, answers come back in order.
//
// It dials, introduces itself (AUTH, SELECT, CLIENT SETNAME), and dials again when the connection
// is lost: after growing pauses, and without a pause too short for others. An answer that does not
// come in time, or that is no RESP, ends the connection: nobody could tell any more which answer
// belongs to what. After kStrikesToTrip failures in a row, of connections or of commands that
// waited for one in vain, the breaker is open: nothing is taken, while the attempts to connect find
// out when it is over. Thread rule: the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "suimon/net/client_connection.h"
#include "suimon/store/redis/alarm.h"
#include "suimon/store/redis/command.h"
#include "suimon/store/redis/reply.h"

namespace suimon::redis {

struct LinkOptions {
  Duration timeout = std::chrono::milliseconds(50);           // for an answer, from sending
  Duration connect_timeout = std::chrono::milliseconds(500);  // until it may be used
  std::string user;                                           // empty: the default user
  std::string password;                                       // empty: no AUTH
  unsigned database = 0;
  bool must_be_master = false;  // asks for its ROLE first
  std::shared_ptr<const net::Tls> tls;
  std::string tls_server_name;
};

// Whether an error says that the server has not run the command because it is a replica, or has
// lost its data for the moment. A name may lead to another one by now.
bool says_not_here(const Value& value);

class Link final : private net::ClientConnection::Owner {
 public:
  static constexpr unsigned kStrikesToTrip = 3;
  static constexpr Duration kFirstPause = std::chrono::milliseconds(50);
  static constexpr Duration kLastPause = std::chrono::seconds(5);
  static constexpr std::size_t kMostQueued = 4096;          // commands that are not sent yet
  static constexpr std::size_t kMostSent = 1024;            // commands without an answer yet
  static constexpr std::size_t kMostUnsentBytes = 4 << 20;  // then the rest stays in the queue

  // Who is told what happens to a link; it must not destroy the link within these.
  class Listener {
   public:
    virtual void on_ready(Link& link) = 0;
    // The connection could not be made or is lost.
    virtual void on_trouble(Link& link) = 0;

   protected:
    ~Listener() = default;
  };

  Link(net::Loop& loop, const LinkOptions& options, Counters& counters, Listener* listener);
  // Commands that are under way are forgotten.
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Where the server is. Another place than before: what was sent there is still waited for, the
  // rest goes to the new one.
  void aim(const net::Endpoint& endpoint);
  const net::Endpoint& endpoint() const { return endpoint_; }

  // Takes a command, to be sent before the loop sleeps again, or when there is a connection.
  // False, and nothing happens: the breaker is open or there is no place.
  bool send(Command& command);

  enum class Sent : std::uint8_t { no, perhaps };
  // The command is not heard of any more. Whether the server may have seen it.
  Sent forget(Command& command);

  // Sends nothing more, waits for what is under way, and dials again with the name looked up anew.
  // Counts as a failure. The link does so itself when an answer says that this is not the server
  // for writing now (says_not_here).
  void redial(const std::string& why);

  bool ready() const { return state_ == State::ready; }
  bool tripped() const { return strikes_ >= kStrikesToTrip && !ready(); }
  bool idle() const { return queued_.empty() && sent_.empty(); }
  // Why there is no connection.
  const std::string& why() const { return why_; }

  // Whether the command that is heard of just now, with NOSCRIPT, is to be sent again behind a
  // SCRIPT LOAD: not when a command that was heard of before has one on the way already.
  bool must_load(const Script& script);

 private:
  enum class State : std::uint8_t { resting, dialling, greeting, ready, draining };
  struct UnderWay {
    Command* command;  // null: nobody waits for it any more
    Instant at;
    unsigned answers;   // that are still to come
    std::uint64_t end;  // its last byte in the stream
  };

  void on_open() override;
  void on_bytes(std::string_view bytes) override;
  void on_lost(const std::string& why) override;

  std::string objection(const Value& value) const;
  void on_greeting(const Value& value);
  void on_answer(const Value& value);
  void flush();
  void ring();
  void dial();
  void fail(const std::string& why);
  void count_failure(const std::string& why);
  void pass_over_queue();
  void set_breaker();

  net::Loop& loop_;
  LinkOptions options_;
  Counters& counters_;
  Listener* listener_;
  net::Endpoint endpoint_;
  net::ClientConnection connection_;
  ReplyReader reader_;
  State state_ = State::resting;
  std::deque<Command*> queued_;
  std::deque<UnderWay> sent_;
  std::uint64_t sent_count_ = 0;     // commands, in all
  const Script* loading_ = nullptr;  // what was loaded last,
  std::uint64_t loading_at_ = 0;     // after so many commands
  std::uint64_t appended_ = 0;       // bytes in the stream of this connection
  enum class Step : std::uint8_t { auth, select, name, role };
  std::vector<Step> greeting_;
  std::size_t greeted_ = 0;  // steps of it
  Instant greeting_until_;
  unsigned failures_ = 0;  // of connections, since the last answer
  unsigned strikes_ = 0;   // those, and of commands that waited in vain
  bool breaker_ = false;   // as counted
  std::uint64_t random_;
  std::string why_;
  Instant dial_at_;
  Alarm<Link, &Link::flush> flush_;
  Alarm<Link, &Link::ring> ring_;  // for the oldest answer, or the next attempt
};

}  // namespace suimon::redis
