#include "suimon/door/resp/session.h"

#include <algorithm>
#include <array>
#include <utility>

#include "suimon/base/text.h"

namespace suimon::door {
namespace {

using Words = std::span<const std::string_view>;

// A browser that was led here would send these; the line behind them may be anybody's wish.
bool is_http(std::string_view word) {
  return equal_ignoring_case(word, "post") || equal_ignoring_case(word, "host:");
}

template <class Batch>
bool is_full(const Batch* batch) {
  return batch != nullptr && batch->size == Batch::kMost;
}

ThrottleDialect dialect_of(RespCommand command) {
  return command == RespCommand::throttle ? ThrottleDialect::throttle
                                          : ThrottleDialect::cl_throttle;
}

}  // namespace

// Calls that are decided together and not answered yet; or checks, which need none of the rest.
struct RespServer::Batch {
  static constexpr std::size_t kMost = 32;

  RespServer* server = nullptr;
  RespSession* session = nullptr;  // null once the connection is gone
  std::size_t size = 0;
  std::uint64_t pending = 0;  // what Throttle::pending() has said; 0: it was not asked
  std::array<Charge, kMost> charges;
  std::array<Decision, kMost> decisions;
  std::array<Group, kMost> groups;
  std::array<ThrottleSet, kMost> sets;
  std::array<ThrottleDialect, kMost> dialects{};
};

class RespSession final : public net::Session {
 public:
  using Batch = RespServer::Batch;

  RespSession(RespServer& server, net::Connection& connection)
      : server_(server), connection_(connection) {
    client_.id = ++server.clients_;
    client_.proved = !server.password_.needed();
  }

  std::size_t on_bytes(std::string_view in, net::Connection& connection) override;
  void on_timeout(net::Connection& connection) override;
  void on_close() override {
    if (asked_ != nullptr) asked_->session = nullptr;
  }
  bool idle() const override { return asked_ == nullptr; }
  void on_bad_proxy_header(std::string_view mistake, net::Connection& connection) override;

  void answer(const Batch& batch);
  void answer(std::span<const Verdict> verdicts);

 private:
  // With so much to send, the connection first looks whether its turn is over.
  static constexpr std::size_t kMuch = std::size_t{256} << 10;

  std::size_t work(std::string_view in);
  bool has_much() const { return answered_ && connection_.out().size() >= kMuch; }
  bool gather(ThrottleDialect dialect, Words words);
  bool has_gathered() const { return gathered_ != nullptr || !server_.checks_.is_empty(); }
  void ask();
  void ask_throttles();
  void ask_checks();
  void run(RespCommand command, Words words);
  void end(int status, std::string_view error);
  Batch& open();
  void answered();

  RespServer& server_;
  net::Connection& connection_;
  RespClient client_;
  Batch* gathered_ = nullptr;  // calls that are still to be asked; only while work() runs
  Batch* asked_ = nullptr;     // what the store has not answered yet
  bool in_bytes_ = false;      // on_bytes is on the stack and will flush
  bool answered_ = false;      // since on_bytes began
};

std::size_t RespSession::on_bytes(std::string_view in, net::Connection& connection) {
  if (const Instant now = connection.loop().now(); now != server_.woken_) server_.wake(now);
  in_bytes_ = true;
  answered_ = false;
  const std::size_t used = work(in);
  in_bytes_ = false;
  if (asked_ != nullptr) {
    connection.pause();
  } else if (client_.leaves || (server_.draining_ && answered_)) {
    connection.close_after_flush();
    return in.size();
  }
  return used;
}

// Reads and answers what has come whole, in order, and returns how many bytes that were. Stops
// where the rest must wait for the store.
std::size_t RespSession::work(std::string_view in) {
  RespReader& reader = server_.reader_;
  std::size_t used = 0;
  while (!client_.leaves && !has_much()) {
    std::size_t consumed = 0;
    const auto status = reader.read(in.substr(used), client_.proved, consumed);
    if (status == RespReader::Status::need_more) break;
    const RespCommand command = status == RespReader::Status::command
                                    ? find_command(reader.words().front())
                                    : RespCommand::unknown;
    const bool throttles =
        client_.proved && (command == RespCommand::cl_throttle || command == RespCommand::throttle);
    // The words of a line do not outlive the next one.
    const bool checks = client_.proved && command == RespCommand::suimon_check && in[used] == '*' &&
                        has_right_count(command, reader.words());
    const bool joins = throttles ? server_.checks_.is_empty() && !is_full(gathered_)
                                 : checks && gathered_ == nullptr && !server_.checks_.is_full();
    if (joins && (throttles ? gather(dialect_of(command), reader.words())
                            : server_.checks_.add(reader.words(), server_.error_))) {
      used += consumed;
      continue;
    }
    // Everything else comes behind what was gathered.
    if (has_gathered()) {
      ask();
      if (asked_ != nullptr) return used;
      if ((throttles || checks) && !joins) continue;
    }
    if (status == RespReader::Status::bad) {
      end(400, "ERR " + reader.error());
      return in.size();
    }
    used += consumed;
    if (throttles || checks) {
      append_error(server_.error_, connection_.out());
      answered_ = true;
    } else if (status == RespReader::Status::command) {
      run(command, reader.words());
      if (asked_ != nullptr) return used;
    }
  }
  if (has_gathered()) ask();
  return used;
}

// Adds a call to those that are asked together. False: it cannot be asked, and error_ says why.
bool RespSession::gather(ThrottleDialect dialect, Words words) {
  ThrottleCall call;
  if (!read_throttle(dialect, words, call, server_.error_)) return false;
  const auto number = server_.throttle_.number_of(call.set);
  if (!number) {
    const bool cell = dialect == ThrottleDialect::cl_throttle;
    server_.error_ = (cell ? "Cell error: " : "ERR ") + number.error().text;
    return false;
  }
  if (gathered_ == nullptr) gathered_ = &open();
  Batch& batch = *gathered_;
  const std::size_t i = batch.size++;
  batch.charges[i] = {.key = server_.throttle_.key_of(dialect, call.key),
                      .amount = call.amount,
                      .shape = *number,
                      .op = call.op};
  batch.groups[i] = {{&batch.charges[i], 1}, {&batch.decisions[i], 1}};
  batch.sets[i] = call.set;
  batch.dialects[i] = dialect;
  return true;
}

// Asks what was gathered. It is answered when this returns, or later.
void RespSession::ask() { gathered_ != nullptr ? ask_throttles() : ask_checks(); }

void RespSession::ask_throttles() {
  Batch& batch = *std::exchange(gathered_, nullptr);
  asked_ = &batch;
  server_.decided_in_wake_ += batch.size;
  server_.throttle_.take({batch.groups.data(), batch.size},
                         {[](void* context, const Result<void>&) {
                            Batch& done = *static_cast<Batch*>(context);
                            done.server->finish(done);
                          },
                          &batch});
  if (asked_ != nullptr) batch.pending = server_.throttle_.pending();
}

void RespServer::finish(Batch& batch) {
  if (batch.pending != 0) throttle_.answered(batch.pending);
  for (std::size_t i = 0; i < batch.size; ++i) {
    if (batch.groups[i].failed) {
      counters_.throttle_failed(id_);
    } else {
      counters_.throttled(id_, batch.charges[i].shape, batch.decisions[i].outcome());
    }
  }
  if (batch.session != nullptr) batch.session->answer(batch);
  batches_.give_back(batch);
}

void RespSession::answer(const Batch& batch) {
  std::string& out = connection_.out();
  for (std::size_t i = 0; i < batch.size; ++i) {
    if (batch.groups[i].failed) {
      append_error("ERR the store did not answer", out);
      continue;
    }
    append_integers(throttle_reply(batch.dialects[i], batch.sets[i], batch.decisions[i]), out);
  }
  answered();
}

void RespSession::ask_checks() {
  CheckCalls& checks = server_.checks_;
  Batch& batch = open();
  asked_ = &batch;
  server_.decided_in_wake_ += checks.requests().size();
  server_.engine_.decide(checks.requests(), server_.id_,
                         {[](void* context, std::span<const Verdict> verdicts) {
                            Batch& done = *static_cast<Batch*>(context);
                            if (done.session != nullptr) done.session->answer(verdicts);
                            done.server->batches_.give_back(done);
                          },
                          &batch});
  checks.clear();
}

void RespSession::answer(std::span<const Verdict> verdicts) {
  for (const Verdict& verdict : verdicts) {
    append_check_reply(verdict, client_.version, connection_.out());
  }
  answered();
}

RespSession::Batch& RespSession::open() {
  Batch& batch = server_.batches_.take();
  batch.server = &server_;
  batch.session = this;
  batch.size = 0;
  batch.pending = 0;
  return batch;
}

// The store has answered: what waits behind that goes on.
void RespSession::answered() {
  asked_ = nullptr;
  answered_ = true;
  if (in_bytes_) return;
  if (server_.draining_) return connection_.close_after_flush();
  connection_.resume();
  connection_.flush();  // last: it may find the client gone, and end the session with it
}

// A command that takes from no bucket of its own parameters.
void RespSession::run(RespCommand command, Words words) {
  std::string& out = connection_.out();
  answered_ = true;
  if (is_http(words.front())) {
    return end(
        400, "ERR Protocol error: this door speaks the Redis protocol; HTTP has a door of its own");
  }
  if (!may_run(command, words, client_, out)) return;
  if (command == RespCommand::suimon_check) {
    if (!server_.checks_.add(words, server_.error_)) return append_error(server_.error_, out);
    return ask_checks();
  }
  const RespFacts facts{server_.password_, server_.server_.connections()};
  const unsigned wrong_before = client_.wrong_passwords;
  answer_command(command, words, client_, facts, out);
  if (client_.wrong_passwords != wrong_before) server_.count_bad(401);
}

void RespSession::end(int status, std::string_view error) {
  server_.count_bad(status);
  append_error(error, connection_.out());
  client_.leaves = true;
}

void RespSession::on_timeout(net::Connection& connection) {
  in_bytes_ = true;
  end(408, "ERR Protocol error: the rest of the command did not come in time");
  connection.close_after_flush();
  in_bytes_ = false;
}

void RespSession::on_bad_proxy_header(std::string_view mistake, net::Connection& connection) {
  end(400, "ERR Protocol error: " + std::string(mistake));
  connection.close_after_flush();
}

RespServer::RespServer(net::Loop& loop, net::Fd listener, Engine& engine, LoopCounters& counters,
                       DoorId id, const RespPassword& password, const net::ServerLimits& limits,
                       net::Greeting greeting)
    : engine_(engine),
      counters_(counters),
      id_(id),
      password_(password),
      throttle_(engine.live().throttles(), engine.store(), engine.clock()),
      server_(
          loop, std::move(listener),
          [this](net::Connection& connection) {
            return std::make_unique<RespSession>(*this, connection);
          },
          limits, std::move(greeting)) {
  loop.on_wake_end([this, &loop] {
    if (decided_in_wake_ == 0) return;
    counters_.measured(id_, loop.clock().now() - loop.now(), decided_in_wake_);
    decided_in_wake_ = 0;
  });
}

RespServer::~RespServer() = default;

void RespServer::wake(Instant now) {
  woken_ = now;
  engine_.wake(now);
  throttle_.wake(now);
}

void RespServer::count_bad(int status) {
  const auto found = std::find(kBadStatuses.begin(), kBadStatuses.end(), status);
  if (found != kBadStatuses.end()) ++bad_[static_cast<std::size_t>(found - kBadStatuses.begin())];
}

void RespServer::drain() {
  draining_ = true;
  server_.finish_accepting();
}

}  // namespace suimon::door
