#include "suimon/store/redis/cluster.h"

#include <algorithm>
#include <utility>

namespace suimon::redis {

Cluster::Cluster(net::Loop& loop, std::vector<net::Endpoint> seeds, const LinkOptions& options)
    : Calls(loop, options.timeout),
      options_(options),
      seeds_(std::move(seeds)),
      looked_(Instant::min()),
      look_(loop, *this),
      bury_(loop, *this) {
  look_.soon();
}

Cluster::~Cluster() = default;

Link* Cluster::link_for(std::uint16_t slot) {
  Link* const link = owners_[slot % kSlots];
  if (link == nullptr) look_soon();
  return link;
}

Link* Cluster::link_to(const net::Endpoint& endpoint) {
  const auto found = links_.find(to_text(endpoint));
  if (found != links_.end()) return found->second.get();
  if (links_.size() + leaving_.size() >= kMostNodes) return nullptr;
  auto link =
      std::make_unique<Link>(loop_, options_, counters_, static_cast<Link::Listener*>(this));
  link->aim(endpoint);
  return links_.emplace(to_text(endpoint), std::move(link)).first->second.get();
}

bool Cluster::redirected(Call& call, Link& from, const Value& error) {
  const bool moved = has_code(error, "MOVED");
  if (moved || has_code(error, "ASK")) {
    const auto redirect = read_redirect(error.text, from.endpoint().host);
    Link* const to = redirect ? link_to(redirect->to) : nullptr;
    ++counters_.redirects;
    if (moved) look_soon();
    if (!redirect || to == nullptr || to == &from) {
      again(call);
      return true;
    }
    if (moved) owners_[redirect->slot] = to;
    call.asking = !moved;
    call.load = false;
    call.loads = 0;
    send(call, to);
    return true;
  }
  // By TRYAGAIN the keys of the call are in two places, and who called must make several of it.
  if (!has_code(error, "CLUSTERDOWN")) return false;
  look_soon();
  again(call);
  return true;
}

void Cluster::on_trouble(Link& link) {
  why_ = link.why();
  look_soon();
}

void Cluster::look_soon() {
  if (asked_ == nullptr) look_.by(std::max(loop_.now(), looked_ + kLookAtMost));
}

// A master that answers, else one of those that the URL names, in turn.
Link* Cluster::whom_to_ask() {
  std::vector<Link*> ready;
  for (const auto& [name, link] : links_) {
    if (link->ready()) ready.push_back(link.get());
  }
  const std::size_t turn = next_seed_++;
  if (!ready.empty()) return ready[turn % ready.size()];
  return link_to(seeds_[turn % seeds_.size()]);
}

// The alarm: asks for the map, or has waited for it in vain.
void Cluster::look() {
  const Instant now = loop_.now();
  if (asked_ != nullptr) {
    const Instant end = looked_ + options_.connect_timeout + options_.timeout;
    if (now < end) return look_.by(end);
    asked_->forget(*this);
    asked_ = nullptr;
    ++in_vain_;
  }
  looked_ = now;
  Link* const link = whom_to_ask();
  if (link == nullptr || !link->send(*this)) {
    ++in_vain_;
    if (link != nullptr) why_ = link->why();
    return look_.by(now + kLookOften);
  }
  asked_ = link;
  look_.by(looked_ + options_.connect_timeout + options_.timeout);
}

void Cluster::write(std::string& out) const { append_command(out, {"CLUSTER", "SLOTS"}); }

void Cluster::heard(Link& from, Fate fate, const Value& value) {
  asked_ = nullptr;
  look_.cancel();
  const auto ranges =
      fate == Fate::answered ? read_slots(value, from.endpoint().host) : std::vector<SlotRange>();
  if (ranges.empty()) {
    ++in_vain_;
    why_ = value.type == Value::Type::error ? std::string(value.text.substr(0, 200))
                                            : to_text(from.endpoint()) + " holds no slots";
    return look_.by(loop_.now() + kLookOften);
  }
  in_vain_ = 0;
  take_over(ranges);
  bool well = true;
  for (const auto& [name, link] : links_) well = well && link->ready();
  look_.by(loop_.now() + (well ? kLookRarely : kLookOften));
}

// Links of masters that are still there stay; the others finish what they have and go.
void Cluster::take_over(const std::vector<SlotRange>& ranges) {
  std::map<std::string, std::unique_ptr<Link>> before;
  before.swap(links_);
  std::fill(owners_.begin(), owners_.end(), nullptr);
  for (const SlotRange& range : ranges) {
    if (const auto known = before.find(to_text(range.master)); known != before.end()) {
      links_.emplace(known->first, std::move(known->second));
      before.erase(known);
    }
    Link* const link = link_to(range.master);
    if (link == nullptr) why_ = "the cluster has more than 1000 masters";
    std::fill(owners_.begin() + range.first, owners_.begin() + range.last + 1, link);
  }
  for (auto& [name, link] : before) leaving_.push_back(std::move(link));
  if (!leaving_.empty()) bury_.by(loop_.now() + options_.timeout);
}

void Cluster::bury() {
  std::erase_if(leaving_, [](const std::unique_ptr<Link>& link) { return link->idle(); });
  if (!leaving_.empty()) bury_.by(loop_.now() + options_.timeout);
}

}  // namespace suimon::redis
