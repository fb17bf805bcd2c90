#include "suimon/store/redis/calls.h"

#include <algorithm>
#include <utility>

namespace suimon::redis {
namespace {

constexpr std::size_t kMaxKept = 256 << 10;  // bytes of a call that are kept for the next one

// Of an error by which nobody goes on: the servers of a cluster say so instead of running anything.
Fate fate_of(const Value& error) {
  for (const std::string_view code : {"MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN"}) {
    if (has_code(error, code)) return Fate::not_run;
  }
  return Fate::answered;
}

}  // namespace

void Call::write(std::string& out) const {
  if (asking) append_command(out, {"ASKING"});
  if (load) append_command(out, {"SCRIPT", "LOAD", script->text});
  append_head(out, 2 + word_count);
  append_word(out, "EVALSHA");
  append_word(out, script->sha1);
  out += words;
}

void Call::heard(Link& from, Fate fate, const Value& value) {
  owner->on_heard(*this, from, fate, value);
}

Calls::Calls(net::Loop& loop, Duration timeout)
    : loop_(loop),
      timeout_(timeout),
      expiry_(loop, *this),
      go_on_(loop, *this),
      tell_(loop, *this) {}

void Calls::run(std::uint16_t slot, const Script& script, std::span<const std::string_view> keys,
                std::span<const std::string_view> arguments, Heard heard) {
  if (under_way_ >= kMostCalls) return refuse(heard, "too many calls are under way");
  Call& call = pool_.take();
  ++under_way_;
  call.owner = this;
  call.script = &script;
  call.hears = heard;
  call.words.clear();
  call.word_count = 1 + keys.size() + arguments.size();
  append_word(call.words, std::to_string(keys.size()));
  for (const std::string_view key : keys) append_word(call.words, key);
  for (const std::string_view argument : arguments) append_word(call.words, argument);
  call.slot = slot;
  call.deadline = loop_.now() + timeout_;
  call.asking = call.load = false;
  call.loads = call.tries = 0;
  call.before = newest_;
  call.after = nullptr;
  (newest_ != nullptr ? newest_->after : oldest_) = &call;
  newest_ = &call;
  expiry_.by(call.deadline);
  send(call, link_for(slot));
}

void Calls::send(Call& call, Link* link) {
  call.link = link;
  if (link != nullptr && link->send(call)) return;
  refuse(call.hears, link == nullptr ? no_link() : link->why());
  release(call);
}

void Calls::again(Call& call) {
  call.link = nullptr;
  call.again_at = loop_.now() + kPause;
  waiting_.push_back(&call);
  go_on_.by(call.again_at);
}

void Calls::go_on() {
  const auto due = std::stable_partition(waiting_.begin(), waiting_.end(),
                                         [&](Call* call) { return call->again_at > loop_.now(); });
  const std::vector<Call*> calls(due, waiting_.end());
  waiting_.erase(due, waiting_.end());
  for (const Call* call : waiting_) go_on_.by(call->again_at);
  for (Call* const call : calls) send(*call, link_for(call->slot));
}

void Calls::on_heard(Call& call, Link& from, Fate fate, const Value& value) {
  call.link = nullptr;
  if (fate == Fate::answered) {
    on_answer(call, from, value);
  } else if (fate == Fate::not_run && !from.tripped()) {
    send(call, link_for(call.slot));  // it waits there for the next connection
  } else {
    finish(call, fate, value);
  }
}

void Calls::on_answer(Call& call, Link& from, const Value& value) {
  if (value.type != Value::Type::error) return finish(call, Fate::answered, value);
  if (has_code(value, "NOSCRIPT")) {
    if (call.load || call.loads == 2) return finish(call, Fate::not_run, value);
    ++call.loads;
    call.load = from.must_load(*call.script);
    if (call.load) ++counters_.script_loads;
    return send(call, &from);
  }
  const bool last = ++call.tries > kMostTries;
  if (says_not_here(value)) {
    if (last) return finish(call, Fate::not_run, value);
    return send(call, link_for(call.slot));
  }
  if (has_code(value, "BUSY")) return finish(call, Fate::not_run, value);
  if (last || !redirected(call, from, value)) finish(call, fate_of(value), value);
}

void Calls::finish(Call& call, Fate fate, const Value& value) {
  const Heard hears = call.hears;
  release(call);
  hears.run(hears.context, fate, value);
}

void Calls::release(Call& call) {
  (call.before != nullptr ? call.before->after : oldest_) = call.after;
  (call.after != nullptr ? call.after->before : newest_) = call.before;
  if (call.words.capacity() > kMaxKept) std::string().swap(call.words);
  --under_way_;
  pool_.give_back(call);
}

void Calls::refuse(const Heard& hears, std::string why) {
  ++counters_.refused;
  refused_.push_back({hears, std::move(why)});
  tell_.soon();
}

void Calls::tell_refused() {
  std::vector<Refused> refused;
  refused.swap(refused_);
  for (const Refused& one : refused) {
    one.hears.run(one.hears.context, Fate::not_run, error_value(one.why));
  }
}

// The alarm of the oldest call.
void Calls::expire() {
  while (oldest_ != nullptr && oldest_->deadline <= loop_.now()) {
    Call& call = *oldest_;
    Fate fate = Fate::not_run;
    if (call.link == nullptr) {
      std::erase(waiting_, &call);
    } else if (call.link->forget(call) == Link::Sent::perhaps) {
      fate = Fate::unknown;
    }
    ++counters_.timeouts;
    finish(call, fate, error_value("no answer in time"));
  }
  if (oldest_ != nullptr) expiry_.by(oldest_->deadline);
}

}  // namespace suimon::redis
