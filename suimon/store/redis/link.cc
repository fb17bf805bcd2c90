#include "suimon/store/redis/link.h"

#include <algorithm>
#include <utility>

namespace suimon::redis {
namespace {

// A step of SplitMix64: spreads the attempts of many loops and machines, nothing more.
std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::string in_time(Duration timeout) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  return "within " + std::to_string(ms) + " ms";
}

}  // namespace

bool says_not_here(const Value& value) {
  if (value.type != Value::Type::error) return false;
  for (const std::string_view code : {"READONLY", "LOADING", "MASTERDOWN"}) {
    if (has_code(value, code)) return true;
  }
  // Before version 7, what a script ran into stands behind "ERR Error running script".
  return value.text.find(": -READONLY ") != std::string_view::npos;
}

Link::Link(net::Loop& loop, const LinkOptions& options, Counters& counters, Listener* listener)
    : loop_(loop),
      options_(options),
      counters_(counters),
      listener_(listener),
      connection_(loop, *this,
                  {.connect_timeout = options.connect_timeout,
                   .tls = options.tls,
                   .server_name = options.tls_server_name}),
      random_(reinterpret_cast<std::uintptr_t>(this) ^
              static_cast<std::uint64_t>(loop.clock().now().ns)),
      flush_(loop, *this),
      ring_(loop, *this) {
  if (!options_.password.empty()) greeting_.push_back(Step::auth);
  if (options_.database != 0) greeting_.push_back(Step::select);
  greeting_.push_back(Step::name);
  if (options_.must_be_master) greeting_.push_back(Step::role);
}

Link::~Link() {
  if (breaker_) --counters_.breakers_open;
}

void Link::set_breaker() {
  if (tripped() == breaker_) return;
  breaker_ = !breaker_;
  if (breaker_) {
    ++counters_.breakers_open;
  } else {
    --counters_.breakers_open;
  }
}

void Link::aim(const net::Endpoint& endpoint) {
  if (endpoint == endpoint_) return;
  endpoint_ = endpoint;
  failures_ = strikes_ = 0;
  dial_at_ = loop_.now();
  if (state_ == State::ready) state_ = State::draining;
  if (state_ != State::draining) {
    connection_.close();
    state_ = State::resting;
  }
  set_breaker();
  ring_.soon();
}

void Link::redial(const std::string& why) {
  if (state_ != State::ready) return;
  state_ = State::draining;
  ring_.soon();
  count_failure(why);
}

bool Link::send(Command& command) {
  if (tripped() || queued_.size() >= kMostQueued) return false;
  queued_.push_back(&command);
  if (ready()) flush_.soon();
  return true;
}

Link::Sent Link::forget(Command& command) {
  if (const auto at = std::find(queued_.begin(), queued_.end(), &command); at != queued_.end()) {
    queued_.erase(at);
    if (!ready()) ++strikes_;
    set_breaker();
    return Sent::no;
  }
  for (UnderWay& sent : sent_) {
    if (sent.command != &command) continue;
    sent.command = nullptr;
    return sent.end > connection_.written() ? Sent::no : Sent::perhaps;
  }
  return Sent::no;
}

void Link::dial() {
  state_ = State::dialling;
  reader_.reset();
  appended_ = 0;
  greeted_ = 0;
  greeting_until_ = loop_.now() + options_.connect_timeout;
  connection_.open(endpoint_);
}

void Link::on_open() {
  state_ = State::greeting;
  std::string& out = connection_.out();
  for (const Step step : greeting_) {
    switch (step) {
      case Step::auth:
        if (options_.user.empty()) {
          append_command(out, {"AUTH", options_.password});
        } else {
          append_command(out, {"AUTH", options_.user, options_.password});
        }
        break;
      case Step::select:
        append_command(out, {"SELECT", std::to_string(options_.database)});
        break;
      case Step::name:
        append_command(out, {"CLIENT", "SETNAME", "suimon"});
        break;
      case Step::role:
        append_command(out, {"ROLE"});
        break;
    }
  }
  appended_ = out.size();
  ring_.by(greeting_until_);
  connection_.flush();
}

// What is wrong with the answer to the greeting's next step; empty: nothing.
std::string Link::objection(const Value& value) const {
  const bool error = value.type == Value::Type::error;
  const std::string said(value.text.substr(0, 200));
  switch (greeting_[greeted_]) {
    case Step::auth:
      return error ? "AUTH was refused: " + said : "";
    case Step::select:
      return error ? "SELECT was refused: " + said : "";
    case Step::name:
      // Who may not have a name may still run scripts.
      return says_not_here(value) || has_code(value, "NOAUTH") ? said : "";
    case Step::role:
      if (error) return "ROLE was refused: " + said;
      if (!value.elements.empty() && value.elements.front().text == "master") return "";
      return "the server is no master";
  }
  return "";
}

void Link::on_greeting(const Value& value) {
  if (const std::string why = objection(value); !why.empty()) return fail(why);
  if (++greeted_ < greeting_.size()) return;
  state_ = State::ready;
  set_breaker();
  ++counters_.connects;
  if (!queued_.empty()) flush_.soon();
  if (listener_ != nullptr) listener_->on_ready(*this);
}

void Link::on_bytes(std::string_view bytes) {
  reader_.feed(bytes);
  while (state_ == State::greeting || state_ == State::ready || state_ == State::draining) {
    const ReplyReader::Found found = reader_.next();
    if (found == ReplyReader::Found::nothing) break;
    if (found == ReplyReader::Found::push) continue;
    if (found == ReplyReader::Found::garbage) {
      return fail("the server sent " + std::string(reader_.mistake()));
    }
    if (state_ == State::greeting) {
      on_greeting(reader_.value());
    } else if (sent_.empty()) {
      return fail("the server sent an answer to nothing");
    } else {
      on_answer(reader_.value());
    }
  }
  if (!queued_.empty() && ready()) flush_.soon();
  if (state_ == State::draining && sent_.empty()) ring_.soon();
}

bool Link::must_load(const Script& script) {
  const std::uint64_t heard_now = sent_count_ - sent_.size();
  if (loading_ == &script && heard_now <= loading_at_) return false;
  loading_ = &script;
  loading_at_ = sent_count_;
  return true;
}

void Link::on_answer(const Value& value) {
  UnderWay& oldest = sent_.front();
  if (--oldest.answers > 0) {
    oldest.at = loop_.now();
    return;
  }
  Command* const command = oldest.command;
  sent_.pop_front();
  if (says_not_here(value)) {
    redial(std::string(value.text.substr(0, 200)));
  } else {
    failures_ = strikes_ = 0;
  }
  if (command != nullptr) command->heard(*this, Fate::answered, value);
}

void Link::flush() {
  if (!ready()) return;
  std::string& out = connection_.out();
  while (!queued_.empty() && sent_.size() < kMostSent && connection_.unsent() < kMostUnsentBytes) {
    Command& command = *queued_.front();
    queued_.pop_front();
    const std::size_t before = out.size();
    command.write(out);
    appended_ += out.size() - before;
    ++sent_count_;
    sent_.push_back({&command, loop_.now(), command.answers(), appended_});
  }
  if (!sent_.empty()) ring_.by(sent_.front().at + options_.timeout);
  connection_.flush();
}

// The alarm: for an attempt, for the greeting or for the oldest answer, whatever is waited for now.
void Link::ring() {
  const Instant now = loop_.now();
  if (state_ == State::draining && sent_.empty()) {
    connection_.close();
    state_ = State::resting;
  }
  Instant next = Instant::max();
  switch (state_) {
    case State::resting:
      if (endpoint_ == net::Endpoint()) return;
      if (dial_at_ <= now) return dial();
      next = dial_at_;
      break;
    case State::dialling:  // the connection has a deadline of its own
      return;
    case State::greeting:
      next = greeting_until_;
      if (next <= now)
        return fail("no answer to the greeting " + in_time(options_.connect_timeout));
      break;
    case State::ready:
    case State::draining:
      if (sent_.empty()) return;
      next = sent_.front().at + options_.timeout;
      if (next <= now) return fail("no answer " + in_time(options_.timeout));
      break;
  }
  ring_.by(next);
}

void Link::on_lost(const std::string& why) { fail(why); }

void Link::count_failure(const std::string& why) {
  why_ = to_text(endpoint_) + ": " + why;
  ++counters_.failures;
  ++failures_;
  ++strikes_;
  const unsigned doublings = std::min(failures_ - 1, 10U);
  const Duration pause = std::min<Duration>(kFirstPause * (1 << doublings), kLastPause);
  // Up to half as long again, so that those who lost a server together do not come back together.
  const Duration jitter{static_cast<std::int64_t>(next_random(random_) %
                                                  static_cast<std::uint64_t>(pause.count() / 2))};
  dial_at_ = loop_.now() + std::min<Duration>(pause + jitter, kLastPause);
  set_breaker();
  if (listener_ != nullptr) listener_->on_trouble(*this);
}

// Closes, tells those whose answers are lost, and dials again after a pause.
void Link::fail(const std::string& why) {
  const std::uint64_t written = connection_.written();
  connection_.close();
  state_ = State::resting;
  count_failure(why);
  ring_.by(dial_at_);
  const std::string told = why_;
  const Value value = error_value(told);
  std::deque<UnderWay> lost;
  lost.swap(sent_);
  for (const UnderWay& sent : lost) {
    if (sent.command == nullptr) continue;
    sent.command->heard(*this, sent.end > written ? Fate::not_run : Fate::unknown, value);
  }
  if (tripped()) pass_over_queue();
}

// Nothing will be sent for a while: those who wait are told now.
void Link::pass_over_queue() {
  const std::string told = why_;
  std::deque<Command*> queued;
  queued.swap(queued_);
  for (Command* const command : queued) command->heard(*this, Fate::not_run, error_value(told));
}

}  // namespace suimon::redis
