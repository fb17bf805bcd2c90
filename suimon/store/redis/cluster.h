// A cluster: each slot's calls go to its master, replicas are never asked.
//
// The map of slots comes from any node that answers. A redirect corrects it at once, for its slot;
// the rest is asked for in the background, once for however many redirects.
// Thread rule: the loop's thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "suimon/store/redis/calls.h"
#include "suimon/store/redis/slot_map.h"

namespace suimon::redis {

class Cluster final : public Calls, private Link::Listener, private Command {
 public:
  static constexpr std::size_t kMostNodes =
      1000;  // with a connection; the slots of more are nobody's
  static constexpr Duration kLookOften =
      std::chrono::milliseconds(250);  // while something is wrong
  static constexpr Duration kLookRarely = std::chrono::seconds(10);
  static constexpr Duration kLookAtMost = std::chrono::milliseconds(50);  // for a redirect

  // `seeds` are nodes by which to find the others.
  Cluster(net::Loop& loop, std::vector<net::Endpoint> seeds, const LinkOptions& options);
  ~Cluster() override;

  bool clustered() const override { return true; }

 private:
  Link* link_for(std::uint16_t slot) override;
  std::string no_link() const override { return why_; }
  bool may_wait() const override { return in_vain_ < Link::kStrikesToTrip; }
  bool redirected(Call& call, Link& from, const Value& error) override;
  void on_ready(Link&) override {}
  void on_trouble(Link& link) override;
  // The question for the map of slots.
  void write(std::string& out) const override;
  void heard(Link& from, Fate fate, const Value& value) override;

  Link* link_to(const net::Endpoint& endpoint);
  Link* whom_to_ask();
  void look();
  void look_soon();
  void take_over(const std::vector<SlotRange>& ranges);
  void bury();

  LinkOptions options_;
  std::vector<net::Endpoint> seeds_;
  std::size_t next_seed_ = 0;
  std::map<std::string, std::unique_ptr<Link>> links_;  // by their endpoints
  std::vector<std::unique_ptr<Link>> leaving_;          // nobody's now: gone when they are idle
  std::vector<Link*> owners_ = std::vector<Link*>(kSlots);
  Link* asked_ = nullptr;  // who has the question
  Instant looked_;         // when it was asked
  unsigned in_vain_ = 0;   // how often in a row
  std::string why_ = "the cluster is not known yet";
  Alarm<Cluster, &Cluster::look> look_;
  Alarm<Cluster, &Cluster::bury> bury_;
};

}  // namespace suimon::redis
