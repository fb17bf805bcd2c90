// The master that Sentinels name.
//
// One Sentinel is asked at a time, again and again; another one when it does not answer, or when
// the server that it names is no master. So a failover is followed within kLookRarely of it, and at
// once when the old master closes its connections or says that it is a replica.
// Thread rule: the loop's thread.
#pragma once

#include <string>
#include <vector>

#include "suimon/store/redis/calls.h"

namespace suimon::redis {

class Sentinels final : public Calls, private Link::Listener, private Command {
 public:
  static constexpr Duration kLookOften =
      std::chrono::milliseconds(250);  // while something is wrong
  static constexpr Duration kLookRarely = std::chrono::seconds(1);

  // `to_sentinel` are the options of the connection to a Sentinel, `to_master` those to the master.
  Sentinels(net::Loop& loop, std::vector<net::Endpoint> sentinels, std::string name,
            const LinkOptions& to_sentinel, const LinkOptions& to_master);

  bool clustered() const override { return false; }

 private:
  Link* link_for(std::uint16_t slot) override;
  std::string no_link() const override { return why_; }
  bool may_wait() const override { return in_vain_ < Link::kStrikesToTrip; }
  void on_ready(Link&) override {}
  void on_trouble(Link& link) override;
  // The question for the master's address.
  void write(std::string& out) const override;
  void heard(Link& from, Fate fate, const Value& value) override;
  void look();

  std::vector<net::Endpoint> sentinels_;
  std::string name_;
  std::size_t turn_ = 0;
  Link sentinel_;
  Link master_;
  bool asked_ = false;
  bool known_ = false;    // a Sentinel has named the master
  bool change_ = false;   // ask another Sentinel
  unsigned in_vain_ = 0;  // how often in a row no Sentinel has named it
  std::string why_ = "no Sentinel has answered yet";
  Alarm<Sentinels, &Sentinels::look> look_;
};

}  // namespace suimon::redis
