// The way of a request between door and reply: match, take, fold, observe.
//
// One Engine per event loop, used by that thread alone; engines share the policy and the store.
// Nothing is allocated per decision. With a store that answers inline, decide() has answered when
// it returns; with a remote one the answer comes later, by the same call. Where that fails, each
// limit says what becomes of the request (LimitRule::on_store_error).
#pragma once

#include <array>
#include <memory>
#include <span>

#include "suimon/base/clock.h"
#include "suimon/base/pool.h"
#include "suimon/engine/live_policy.h"
#include "suimon/engine/observer.h"
#include "suimon/engine/verdict.h"
#include "suimon/policy/request.h"
#include "suimon/store/store.h"

namespace suimon {

// Who gets the verdicts of one decide(): a function and its context. Runs exactly once, and must
// not call decide() itself: what the verdicts point into would go.
struct Answer {
  void (*run)(void* context, std::span<const Verdict> verdicts) = nullptr;
  void* context = nullptr;
};

class Engine {
 public:
  static constexpr std::size_t kMostRequests = 16;  // in one decide()
  static constexpr std::size_t kMostParts = 64;     // in one decide_together()

  Engine(const LivePolicy& policy, Store& store, Observer& observer, const Clock& clock);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // A new wake-up of the loop: its requests are decided as of this reading of the clock. The
  // reading is renewed once before the first refusal, so that nobody is refused for the time
  // that the loop spent on others.
  void wake(Instant now);

  // Decides the requests in order, each by itself. Their views need not outlive the call.
  void decide(std::span<const Request> requests, DoorId door, Answer answer);

  // Decides the requests together, all or none: they are parts of one, and get one verdict, whose
  // `parts` tell which limits apply to which (of one alone: all). A limit that applies to several
  // of them under the same key is charged once, the largest of their costs. All name one domain;
  // together they may bring as many charges as one request.
  void decide_together(std::span<const Request> parts, DoorId door, Answer answer);

  // The policy that the next decide() will use.
  const Policy& policy();

  // What the engine works on, for doors whose calls bring parameters of their own (throttle.h).
  const LivePolicy& live() const { return live_; }
  Store& store() const { return store_; }
  const Clock& clock() const { return clock_; }

 private:
  struct Work;

  using Step = void (Engine::*)(Work& work);

  Work& begin(DoorId door, Answer answer, std::size_t count);
  void match(Work& work, std::size_t i, const Request& request);
  void match_parts(Work& work, std::span<const Request> parts);
  void charge(Work& work, std::size_t i);
  void ask(Work& work, std::span<Group> groups, Step next);
  bool renew();
  void retake_refused(Work& work);
  void fall_back(Work& work, std::size_t group);
  void judged(Work& work);
  void shadowed(Work& work);
  void finish(Work& work);
  void refresh_policy();

  const LivePolicy& live_;
  Store& store_;
  Observer& observer_;
  const Clock& clock_;
  const bool hears_requests_;
  std::shared_ptr<const Policy> policy_;
  std::uint64_t generation_ = 0;
  MatchScratch scratch_;
  Instant now_;
  bool renewed_ = false;
  Pool<Work> works_;
};

}  // namespace suimon
