// Calls that are under way: what is the same for one server, for Sentinels and for a cluster.
//
// A call is encoded once and given to links until one answers it, or until its time is up. Whether
// and where it is sent again is decided here; by which link it goes, the kinds of servers say.
// Thread rule: the loop's thread.
#pragma once

#include <string>
#include <vector>

#include "suimon/base/pool.h"
#include "suimon/store/redis/alarm.h"
#include "suimon/store/redis/command.h"
#include "suimon/store/redis/link.h"
#include "suimon/store/redis/servers.h"

namespace suimon::redis {

class Calls;

struct Call final : Command {
  void write(std::string& out) const override;
  unsigned answers() const override { return 1U + (load ? 1U : 0U) + (asking ? 1U : 0U); }
  void heard(Link& from, Fate fate, const Value& value) override;

  Calls* owner = nullptr;
  const Script* script = nullptr;
  Heard hears;
  std::string words;  // encoded: the number of keys, keys and arguments
  std::size_t word_count = 0;
  std::uint16_t slot = 0;
  Instant deadline;
  Link* link = nullptr;    // that has it; null: it waits here
  Instant again_at;        // while it waits here
  bool asking = false;     // behind ASKING: of a slot that is on the move
  bool load = false;       // behind SCRIPT LOAD
  unsigned loads = 0;      // times that it was refused with NOSCRIPT
  unsigned tries = 0;      // times that it was sent on or again for other reasons
  Call* before = nullptr;  // in the list of all, by deadline
  Call* after = nullptr;
};

class Calls : public Servers {
 public:
  static constexpr unsigned kMostTries = 5;  // redirects and refusals for the time being
  static constexpr Duration kPause = std::chrono::milliseconds(5);  // before another try

  Calls(net::Loop& loop, Duration timeout);

  void run(std::uint16_t slot, const Script& script, std::span<const std::string_view> keys,
           std::span<const std::string_view> arguments, Heard heard) final;
  const Counters& counters() const final { return counters_; }

 protected:
  // The link for a slot. Null: there is none now, and no_link() says why.
  virtual Link* link_for(std::uint16_t slot) = 0;
  virtual std::string no_link() const { return "no server is known"; }
  // A server's error that only a cluster gives. True: the call was sent on, or will be tried again.
  virtual bool redirected(Call& call, Link& from, const Value& error) {
    (void)call, (void)from, (void)error;
    return false;
  }

  // Sends the call by this link; where that cannot be, it is over.
  void send(Call& call, Link* link);
  // Tries the call again after kPause.
  void again(Call& call);

  net::Loop& loop_;
  Counters counters_;

 private:
  friend struct Call;
  struct Refused {
    Heard hears;
    std::string why;
  };
  void on_heard(Call& call, Link& from, Fate fate, const Value& value);
  void on_answer(Call& call, Link& from, const Value& value);
  void finish(Call& call, Fate fate, const Value& value);
  void refuse(const Heard& hears, std::string why);
  void release(Call& call);
  void expire();
  void go_on();
  void tell_refused();

  Duration timeout_;
  Pool<Call> pool_;
  std::size_t under_way_ = 0;
  Call* oldest_ = nullptr;
  Call* newest_ = nullptr;
  std::vector<Call*> waiting_;    // for another try
  std::vector<Refused> refused_;  // told before the loop sleeps again
  Alarm<Calls, &Calls::expire> expiry_;
  Alarm<Calls, &Calls::go_on> go_on_;
  Alarm<Calls, &Calls::tell_refused> tell_;
};

}  // namespace suimon::redis
