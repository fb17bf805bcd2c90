#include "suimon/engine/engine.h"

#include <cassert>

namespace suimon {

// Everything that one decide() needs until its answer has run. Reused, never freed while running.
struct Engine::Work {
  struct One {
    Matched matched;
    std::array<Decision, kMostCharges> decisions;
    Verdict verdict;
  };

  Engine* engine = nullptr;
  const Policy* policy = nullptr;      // what the verdicts point into
  std::shared_ptr<const Policy> held;  // keeps it alive while a remote store decides
  std::array<One, kMostRequests> requests;
  std::array<Verdict, kMostRequests> verdicts;
  std::array<Group, kMostRequests> groups;
  std::array<std::uint8_t, kMostRequests> request_of_group{};
  std::size_t count = 0;
  std::size_t group_count = 0;
  DoorId door = 0;
  Answer answer;
  bool failed = false;
  bool in_take = false;   // the store was called and has not returned
  bool answered = false;  // the store has decided

  void fold(std::size_t group);
};

Engine::Engine(const LivePolicy& policy, Store& store, Observer& observer, const Clock& clock)
    : live_(policy), store_(store), observer_(observer), clock_(clock) {
  wake(clock.now());
  refresh_policy();
}

Engine::~Engine() = default;

void Engine::wake(Instant now) {
  now_ = now;
  renewed_ = false;
}

void Engine::refresh_policy() {
  const std::uint64_t generation = live_.generation();
  if (generation == generation_) return;
  policy_ = live_.current();
  generation_ = generation;
}

const Policy& Engine::policy() {
  refresh_policy();
  return *policy_;
}

void Engine::decide(std::span<const Request> requests, DoorId door, Answer answer) {
  assert(requests.size() <= kMostRequests);
  refresh_policy();
  Work& work = works_.take();
  work.engine = this;
  work.policy = policy_.get();
  work.door = door;
  work.answer = answer;
  work.count = requests.size();
  work.group_count = 0;
  work.failed = work.answered = false;
  for (std::size_t i = 0; i < requests.size(); ++i) match(work, i, requests[i]);
  if (work.group_count == 0) {
    finish(work);
    return;
  }
  take(work);
}

void Engine::match(Work& work, std::size_t i, const Request& request) {
  Work::One& one = work.requests[i];
  Verdict& verdict = one.verdict;
  verdict = Verdict{};
  verdict.ruleset = work.policy->find(request.domain);
  if (verdict.ruleset == nullptr) {
    verdict.status = Verdict::Status::unknown_domain;
    return;
  }
  verdict.ruleset->match(request, one.matched, scratch_);
  if (one.matched.status != Matched::Status::ok) {
    verdict.status = one.matched.status == Matched::Status::bad_path
                         ? Verdict::Status::bad_path
                         : Verdict::Status::too_many_limits;
    return;
  }
  verdict.applied = {one.matched.applied.data(), one.matched.size};
  verdict.decisions = {one.decisions.data(), one.matched.charged};
  verdict.charges = {one.matched.charges.data(), one.matched.charged};
  const bool lacking = one.matched.size > one.matched.charged;
  if (lacking) {
    // Refused already: the other limits say where they stand, and nothing is charged.
    verdict.outcome = Outcome::never;
    for (std::size_t c = 0; c < one.matched.charged; ++c) one.matched.charges[c].op = Op::peek;
  }
  if (one.matched.charged == 0) return;
  work.request_of_group[work.group_count] = static_cast<std::uint8_t>(i);
  work.groups[work.group_count++] = {{one.matched.charges.data(), one.matched.charged},
                                     {one.decisions.data(), one.matched.charged}};
}

void Engine::take(Work& work) {
  // One refused request is tried again with a later reading. Of several that is too late: those
  // behind it have been charged by then.
  if (work.group_count > 1) renew();
  work.in_take = true;
  store_.take({work.groups.data(), work.group_count}, now_,
              {[](void* context, const Result<void>& result) {
                 Work& done = *static_cast<Work*>(context);
                 done.failed = !result;
                 done.answered = true;
                 if (!done.in_take) done.engine->finish(done);  // a remote store's later answer
               },
               &work});
  work.in_take = false;
  if (!work.answered) {
    work.held = policy_;
    return;
  }
  if (!work.failed && work.group_count == 1) retake_refused(work);
  finish(work);
}

// Reads the clock again, once a wake-up. False when it shows nothing new.
bool Engine::renew() {
  if (renewed_) return false;
  renewed_ = true;
  const Instant again = clock_.now();
  if (again <= now_) return false;
  now_ = again;
  return true;
}

// The store answered inline and the request was refused as of a reading that may be old by now.
void Engine::retake_refused(Work& work) {
  Group& group = work.groups[0];
  if (group.taken || !renew()) return;
  store_.take({&group, 1}, now_,
              {[](void* context, const Result<void>& result) {
                 static_cast<Work*>(context)->failed |= !result;
               },
               &work});
}

void Engine::Work::fold(std::size_t group) {
  Verdict& verdict = requests[request_of_group[group]].verdict;
  if (failed) {
    verdict.status = Verdict::Status::store_failed;
    return;
  }
  for (const Decision& decision : verdict.decisions) {
    if (decision.never()) verdict.outcome = Outcome::never;
    if (decision.limited() && verdict.outcome == Outcome::allowed) {
      verdict.outcome = Outcome::limited;
    }
  }
}

void Engine::finish(Work& work) {
  for (std::size_t g = 0; g < work.group_count; ++g) work.fold(g);
  for (std::size_t i = 0; i < work.count; ++i) {
    work.verdicts[i] = work.requests[i].verdict;
    observer_.decided(work.door, work.verdicts[i]);
  }
  work.answer.run(work.answer.context, {work.verdicts.data(), work.count});
  work.held.reset();
  works_.give_back(work);
}

}  // namespace suimon
