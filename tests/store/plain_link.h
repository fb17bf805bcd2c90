// One connection to one server's socket: the least that redis::Servers can be.
#pragma once

#include <fcntl.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "suimon/net/fd.h"
#include "suimon/net/loop.h"
#include "suimon/store/redis/alarm.h"
#include "suimon/store/redis/servers.h"
#include "tests/store/redis_server.h"

namespace suimon::test {

class PlainLink final : public redis::Servers, private net::Watcher {
 public:
  PlainLink(net::Loop& loop, std::string socket, Duration timeout, bool clustered = false)
      : loop_(loop),
        socket_(std::move(socket)),
        timeout_(timeout),
        clustered_(clustered),
        flush_(loop, *this),
        late_(loop, *this) {}
  ~PlainLink() override { hang_up(); }

  void run(std::uint16_t, const redis::Script& script, std::span<const std::string_view> keys,
           std::span<const std::string_view> arguments, redis::Heard heard) override {
    Call call{.script = &script, .rest = {}, .heard = heard, .at = loop_.clock().now()};
    call.words = 3 + keys.size() + arguments.size();
    word(call.rest, std::to_string(keys.size()));
    for (const auto key : keys) word(call.rest, key);
    for (const auto argument : arguments) word(call.rest, argument);
    put(call, "EVALSHA", script.sha1);
    calls_.push_back(std::move(call));
    flush_.soon();
    late_.by(calls_.front().at + timeout_);
  }
  bool clustered() const override { return clustered_; }
  const redis::Counters& counters() const override { return counters_; }

 private:
  struct Call {
    const redis::Script* script;
    std::string rest;
    redis::Heard heard;
    Instant at;
    std::size_t words = 0;
  };

  static void word(std::string& out, std::string_view text) {
    out += "$" + std::to_string(text.size()) + "\r\n";
    out += text;
    out += "\r\n";
  }
  void put(const Call& call, std::string_view command, std::string_view script) {
    out_ += "*" + std::to_string(call.words) + "\r\n";
    word(out_, command);
    word(out_, script);
    out_ += call.rest;
  }
  void flush() {
    if (!fd_) {
      fd_ = net::Fd(connect_to(socket_));
      if (!fd_) return;
      ::fcntl(fd_.get(), F_SETFL, O_NONBLOCK);
      loop_.watch(fd_.get(), EPOLLIN, this);
    }
    const ssize_t sent = ::write(fd_.get(), out_.data(), out_.size());
    if (sent > 0) out_.erase(0, static_cast<std::size_t>(sent));
    loop_.modify(fd_.get(), out_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT, this);
  }
  void hang_up() {
    if (fd_) loop_.unwatch(fd_.get(), this);
    fd_.reset();
    in_.clear();
    out_.clear();
  }
  void late() {
    if (calls_.empty()) return;
    if (loop_.now() < calls_.front().at + timeout_) {
      late_.by(calls_.front().at + timeout_);
      return;
    }
    hang_up();
    for (auto calls = std::exchange(calls_, {}); const Call& call : calls) {
      call.heard.run(call.heard.context, redis::Fate::unknown,
                     {.type = redis::Value::Type::error,
                      .integer = 0,
                      .text = "no answer in time",
                      .elements = {}});
    }
  }
  void on_ready(std::uint32_t events) override {
    if ((events & EPOLLOUT) != 0) flush();
    char bytes[65536];
    for (ssize_t got = 0; (got = ::read(fd_.get(), bytes, sizeof bytes)) > 0;) {
      in_.append(bytes, static_cast<std::size_t>(got));
    }
    std::deque<std::vector<redis::Value>> kept;
    redis::Value value;
    std::size_t at = 0;
    std::size_t used = 0;
    while (!calls_.empty() && (kept.clear(), parse(at, value, kept))) {
      used = at;
      if (value.type == redis::Value::Type::error && value.text.starts_with("NOSCRIPT")) {
        put(calls_.front(), "EVAL", calls_.front().script->text);
        calls_.push_back(std::move(calls_.front()));
        calls_.pop_front();
        flush();
        continue;
      }
      const Call call = std::move(calls_.front());
      calls_.pop_front();
      call.heard.run(call.heard.context, redis::Fate::answered, value);
    }
    in_.erase(0, used);
  }
  bool parse(std::size_t& at, redis::Value& value, std::deque<std::vector<redis::Value>>& kept) {
    using Type = redis::Value::Type;
    const auto end = in_.find("\r\n", at);
    if (end == std::string::npos) return false;
    const std::string_view line = std::string_view(in_).substr(at, end - at);
    at = end + 2;
    const std::int64_t number = std::strtoll(line.data() + 1, nullptr, 10);
    value = {.type = Type::text, .integer = number, .text = line.substr(1), .elements = {}};
    if (line[0] == '-') value.type = Type::error;
    if (line[0] == ':') value.type = Type::integer;
    if (line[0] == '$') {
      value.text = {};
      if (number < 0) {
        value.type = Type::nil;
        return true;
      }
      const auto size = static_cast<std::size_t>(number);
      if (in_.size() < at + size + 2) return false;
      value.text = std::string_view(in_).substr(at, size);
      at += size + 2;
    }
    if (line[0] == '*') {
      value.type = Type::array;
      auto& elements = kept.emplace_back(static_cast<std::size_t>(number));
      for (redis::Value& element : elements) {
        if (!parse(at, element, kept)) return false;
      }
      value.elements = elements;
    }
    return true;
  }

  net::Loop& loop_;
  std::string socket_;
  Duration timeout_;
  bool clustered_;
  net::Fd fd_;
  std::deque<Call> calls_;
  std::string in_, out_;
  redis::Counters counters_;
  redis::Alarm<PlainLink, &PlainLink::flush> flush_;
  redis::Alarm<PlainLink, &PlainLink::late> late_;
};

}  // namespace suimon::test
