#include "suimon/store/redis/sentinel.h"

#include <utility>

#include "suimon/base/text.h"

namespace suimon::redis {
namespace {

LinkOptions of_master(LinkOptions options) {
  options.must_be_master = true;
  return options;
}

}  // namespace

Sentinels::Sentinels(net::Loop& loop, std::vector<net::Endpoint> sentinels, std::string name,
                     const LinkOptions& to_sentinel, const LinkOptions& to_master)
    : Calls(loop, to_master.timeout),
      sentinels_(std::move(sentinels)),
      name_(std::move(name)),
      sentinel_(loop, to_sentinel, counters_, this),
      master_(loop, of_master(to_master), counters_, this),
      look_(loop, *this) {
  sentinel_.aim(sentinels_.front());
  look_.soon();
}

Link* Sentinels::link_for(std::uint16_t) { return known_ ? &master_ : nullptr; }

void Sentinels::on_trouble(Link& link) {
  why_ = link.why();
  change_ = true;
  look_.by(loop_.now() + kLookOften);
}

// The alarm: asks, and asks another Sentinel when the last one was of no use.
void Sentinels::look() {
  look_.by(loop_.now() + (master_.ready() ? kLookRarely : kLookOften));
  if (asked_) {
    sentinel_.forget(*this);
    asked_ = false;
    change_ = true;
    ++in_vain_;
  }
  if (std::exchange(change_, false)) sentinel_.aim(sentinels_[++turn_ % sentinels_.size()]);
  asked_ = sentinel_.send(*this);
}

void Sentinels::write(std::string& out) const {
  append_command(out, {"SENTINEL", "get-master-addr-by-name", name_});
}

void Sentinels::heard(Link& from, Fate fate, const Value& value) {
  asked_ = false;
  const auto& words = value.elements;
  const auto port = words.size() == 2 ? parse_number<std::uint16_t>(words[1].text) : std::nullopt;
  if (fate != Fate::answered || !port || *port == 0 || words[0].text.empty()) {
    why_ = value.type == Value::Type::error
               ? std::string(value.text.substr(0, 200))
               : to_text(from.endpoint()) + " knows no master \"" + name_ + "\"";
    ++in_vain_;
    change_ = true;
    return;
  }
  in_vain_ = 0;
  known_ = true;
  net::Endpoint endpoint;
  endpoint.host = words[0].text;
  endpoint.port = *port;
  master_.aim(endpoint);
  if (!master_.ready()) {
    look_.by(loop_.now() + kLookOften);
    change_ = true;  // should that one be no master, another Sentinel may know better
  }
}

}  // namespace suimon::redis
