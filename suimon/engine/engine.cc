#include "suimon/engine/engine.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <vector>

#include "suimon/engine/union.h"

namespace suimon {

// Everything that one decide() needs until its answer has run. Reused, never freed while running.
struct Engine::Work {
  struct One {
    Matched matched;
    std::array<Decision, kMostCharges> decisions;
    std::array<Decision, kMostCharges> shadow_decisions;
    Verdict verdict;
  };
  // A request, where the answer comes after the caller's own has gone.
  struct Kept {
    std::vector<Attribute> attributes;
    std::string text;
  };

  Engine* engine = nullptr;
  const Policy* policy = nullptr;      // what the verdicts point into
  std::shared_ptr<const Policy> held;  // keeps it alive while a remote store decides
  std::array<One, kMostRequests> requests;
  Union together;  // of decide_together()
  Matched part;
  std::vector<Request> kept;
  std::vector<Kept> kept_parts;
  std::array<Verdict, kMostRequests> verdicts;
  std::array<Group, kMostRequests> groups;
  std::array<std::uint8_t, kMostRequests> request_of_group{};
  std::vector<Group> shadow_groups;  // grows to the most that was ever needed
  std::size_t count = 0;
  std::size_t group_count = 0;
  DoorId door = 0;
  Answer answer;
  Step next = nullptr;    // when the store has answered
  bool in_take = false;   // the store was called and has not returned
  bool answered = false;  // the store has decided

  void fold(std::size_t group);
  void prepare_shadows(One& one);
  void keep_requests();
  std::span<const Request> keep(std::span<const Request> some, std::size_t from);
};

Engine::Engine(const LivePolicy& policy, Store& store, Observer& observer, const Clock& clock)
    : live_(policy),
      store_(store),
      observer_(observer),
      clock_(clock),
      hears_requests_(observer.hears_requests()) {
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

Engine::Work& Engine::begin(DoorId door, Answer answer, std::size_t count) {
  refresh_policy();
  Work& work = works_.take();
  work.engine = this;
  work.policy = policy_.get();
  work.door = door;
  work.answer = answer;
  work.count = count;
  work.group_count = 0;
  work.answered = false;
  return work;
}

void Engine::decide_together(std::span<const Request> parts, DoorId door, Answer answer) {
  assert(!parts.empty() && parts.size() <= kMostParts);
  if (parts.size() == 1) return decide(parts, door, answer);
  Work& work = begin(door, answer, 1);
  match_parts(work, parts);
  if (work.group_count == 0) return judged(work);
  ask(work, {work.groups.data(), 1}, &Engine::judged);
}

void Engine::decide(std::span<const Request> requests, DoorId door, Answer answer) {
  assert(requests.size() <= kMostRequests);
  Work& work = begin(door, answer, requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) match(work, i, requests[i]);
  if (work.group_count == 0) {
    judged(work);
    return;
  }
  // One refused request is tried again with a later reading. Of several that is too late: those
  // behind it have been charged by then.
  if (work.group_count > 1) renew();
  ask(work, {work.groups.data(), work.group_count}, &Engine::judged);
}

void Engine::match(Work& work, std::size_t i, const Request& request) {
  Work::One& one = work.requests[i];
  Verdict& verdict = one.verdict;
  verdict = Verdict{};
  if (hears_requests_) verdict.requests = {&request, 1};
  verdict.ruleset = work.policy->find(request.domain);
  if (verdict.ruleset == nullptr) {
    verdict.status = Verdict::Status::unknown_domain;
    return;
  }
  verdict.ruleset->match(request, one.matched, scratch_);
  charge(work, i);
}

// The limits of all parts, each charge once.
void Engine::match_parts(Work& work, std::span<const Request> parts) {
  Work::One& one = work.requests[0];
  Verdict& verdict = one.verdict;
  verdict = Verdict{};
  if (hears_requests_) verdict.requests = parts;
  verdict.ruleset = work.policy->find(parts.front().domain);
  if (verdict.ruleset == nullptr) {
    verdict.status = Verdict::Status::unknown_domain;
    return;
  }
  work.together.clear();
  for (std::size_t i = 0; i < parts.size() && work.together.good(); ++i) {
    verdict.ruleset->match(parts[i], work.part, scratch_);
    work.together.add(i, work.part);
  }
  work.together.finish(one.matched);
  verdict.parts = work.together.parts(parts.size());
  charge(work, 0);
}

// What the limits that were found ask of the store.
void Engine::charge(Work& work, std::size_t i) {
  Work::One& one = work.requests[i];
  Verdict& verdict = one.verdict;
  if (one.matched.status != Matched::Status::ok) {
    verdict.status = one.matched.status == Matched::Status::bad_path
                         ? Verdict::Status::bad_path
                         : Verdict::Status::too_many_limits;
    return;
  }
  Charged& enforced = one.matched.enforced;
  verdict.applied = {enforced.applied.data(), enforced.size};
  verdict.decisions = {one.decisions.data(), enforced.charged};
  verdict.charges = {enforced.charges.data(), enforced.charged};
  const bool lacking = enforced.size > enforced.charged;
  if (lacking) {
    // Refused already: the other limits say where they stand, and nothing is charged.
    verdict.outcome = Outcome::never;
    for (std::size_t c = 0; c < enforced.charged; ++c) enforced.charges[c].op = Op::peek;
  }
  if (enforced.charged == 0) return;
  work.request_of_group[work.group_count] = static_cast<std::uint8_t>(i);
  work.groups[work.group_count++] = {verdict.charges, {one.decisions.data(), enforced.charged}};
}

// Hands groups to the store; when it has answered, now or later, `next` goes on.
void Engine::ask(Work& work, std::span<Group> groups, Step next) {
  work.next = next;
  work.answered = false;
  work.in_take = true;
  store_.take(groups, now_,
              {[](void* context, const Result<void>&) {  // groups say themselves that they failed
                 Work& done = *static_cast<Work*>(context);
                 done.answered = true;
                 // A remote store's later answer.
                 if (!done.in_take) (done.engine->*done.next)(done);
               },
               &work});
  work.in_take = false;
  if (work.answered) {
    (this->*next)(work);
  } else {
    if (hears_requests_ && !work.held) work.keep_requests();
    work.held = policy_;
  }
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
  store_.take({&group, 1}, now_, {[](void*, const Result<void>&) {}, nullptr});
}

void Engine::Work::keep_requests() {
  std::size_t all = 0;
  for (std::size_t i = 0; i < count; ++i) all += requests[i].verdict.requests.size();
  if (kept.size() < all) {
    kept.resize(all);
    kept_parts.resize(all);
  }
  std::size_t from = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Verdict& verdict = requests[i].verdict;
    verdict.requests = keep(verdict.requests, from);
    from += verdict.requests.size();
  }
}

// Copies `some` to the places from `from` on, and what they view with them.
std::span<const Request> Engine::Work::keep(std::span<const Request> some, std::size_t from) {
  for (std::size_t i = 0; i < some.size(); ++i) {
    const Request& request = some[i];
    std::vector<Attribute>& attributes = kept_parts[from + i].attributes;
    std::string& text = kept_parts[from + i].text;
    std::size_t size = request.domain.size();
    for (const Attribute& a : request.attributes) size += a.name.size() + a.value.size();
    text.clear();
    text.reserve(size);  // so that the views below stay where they are
    const auto copy = [&](std::string_view view) {
      const std::size_t at = text.size();
      text += view;
      return std::string_view(text).substr(at);
    };
    attributes.clear();
    for (const Attribute& a : request.attributes) {
      attributes.push_back({copy(a.name), copy(a.value)});
    }
    kept[from + i] = {copy(request.domain), attributes, request.cost};
  }
  return std::span(kept).subspan(from, some.size());
}

// The store could not decide about a group: its limits say what becomes of the request.
void Engine::fall_back(Work& work, std::size_t group) {
  Work::One& one = work.requests[work.request_of_group[group]];
  Verdict& verdict = one.verdict;
  Charged& enforced = one.matched.enforced;
  Store* const local = store_.fallback();
  const auto answer_of = [&](std::size_t c) {
    const OnStoreError answer = enforced.applied[c].rule->on_store_error;
    return answer == OnStoreError::local && local == nullptr ? OnStoreError::deny : answer;
  };
  std::size_t kept = 0;
  LimitSet staying = kAllLimits;
  for (std::size_t c = 0; c < enforced.charged; ++c) {
    if (answer_of(c) == OnStoreError::deny) {
      verdict.status = Verdict::Status::store_failed;
      return;
    }
    if (answer_of(c) == OnStoreError::allow) {
      staying &= ~(LimitSet{1} << c);
      continue;
    }
    enforced.applied[kept] = enforced.applied[c];
    enforced.charges[kept++] = enforced.charges[c];
  }
  const std::size_t unasked = enforced.charged - kept;
  std::copy(enforced.applied.begin() + static_cast<std::ptrdiff_t>(enforced.charged),
            enforced.applied.begin() + static_cast<std::ptrdiff_t>(enforced.size),
            enforced.applied.begin() + static_cast<std::ptrdiff_t>(kept));
  enforced.charged = kept;
  enforced.size -= unasked;
  if (!verdict.parts.empty()) work.together.keep(staying);
  verdict.unasked = static_cast<std::uint8_t>(unasked);
  verdict.decided_locally = static_cast<std::uint8_t>(kept);
  verdict.applied = {enforced.applied.data(), enforced.size};
  verdict.decisions = {one.decisions.data(), kept};
  verdict.charges = {enforced.charges.data(), kept};
  if (kept == 0) return;
  work.groups[group] = {verdict.charges, {one.decisions.data(), kept}};
  // An answer that came late may have waited long.
  const Instant now = std::max(now_, clock_.now());
  local->take({&work.groups[group], 1}, now, {[](void*, const Result<void>&) {}, nullptr});
}

void Engine::Work::fold(std::size_t group) {
  Verdict& verdict = requests[request_of_group[group]].verdict;
  for (const Decision& decision : verdict.decisions) {
    if (decision.never()) verdict.outcome = Outcome::never;
    if (decision.limited() && verdict.outcome == Outcome::allowed) {
      verdict.outcome = Outcome::limited;
    }
  }
}

// Each shadow is a group of its own: whether one would allow says nothing to another.
void Engine::Work::prepare_shadows(One& one) {
  Charged& shadows = one.matched.shadows;
  one.verdict.shadows = {{shadows.applied.data(), shadows.size},
                         {one.shadow_decisions.data(), shadows.charged},
                         {shadows.charges.data(), shadows.charged}};
  for (std::size_t c = 0; c < shadows.charged; ++c) {
    shadow_groups.push_back({{&shadows.charges[c], 1}, {&one.shadow_decisions[c], 1}});
  }
}

// The store has decided about what is enforced.
void Engine::judged(Work& work) {
  if (work.group_count == 1 && !work.groups[0].failed && !work.held) retake_refused(work);
  for (std::size_t g = 0; g < work.group_count; ++g) {
    if (work.groups[g].failed) [[unlikely]]
      fall_back(work, g);
    if (work.requests[work.request_of_group[g]].verdict.status == Verdict::Status::decided) {
      work.fold(g);
    }
  }
  work.shadow_groups.clear();
  for (std::size_t i = 0; i < work.count; ++i) {
    Work::One& one = work.requests[i];
    if (one.verdict.allowed() && one.matched.shadows.size != 0) work.prepare_shadows(one);
  }
  if (work.shadow_groups.empty()) return finish(work);
  renew();
  ask(work, work.shadow_groups, &Engine::shadowed);
}

// Nobody is refused because a shadow could not be asked.
void Engine::shadowed(Work& work) {
  const bool some_failed = std::any_of(work.shadow_groups.begin(), work.shadow_groups.end(),
                                       [](const Group& group) { return group.failed; });
  if (some_failed) {
    for (std::size_t i = 0; i < work.count; ++i) work.requests[i].verdict.shadows = {};
  }
  finish(work);
}

void Engine::finish(Work& work) {
  for (std::size_t i = 0; i < work.count; ++i) {
    work.verdicts[i] = work.requests[i].verdict;
    work.verdicts[i].at = now_;
    observer_.decided(work.door, work.verdicts[i]);
  }
  work.answer.run(work.answer.context, {work.verdicts.data(), work.count});
  work.held.reset();
  works_.give_back(work);
}

}  // namespace suimon
