// The charges of one request, decided together: all are spent or none.
//
// Pure steps over states that somebody else holds; every store that can read all states of a group
// before it writes any decides by this. The states are Ledgers or Words.
//
// `View` is a shape as its holder sees it, a value with: algorithm(), scale(), since() (when its
// parameters came into force), next() (what replaced it, false when nothing did) and ==.
#pragma once

#include <span>

#include "suimon/core/algorithms.h"
#include "suimon/core/charge.h"
#include "suimon/core/state.h"

namespace suimon {

// `state`, written in `from`, as `to` reads it: a change of parameters takes effect at the instant
// at which it came into force, a change of tier at the request that shows it.
template <class State, class View>
State read_as(State state, View from, View to, Instant now) {
  const auto convert = [&](View old, View other, Instant when) {
    return with_algorithm(other.algorithm(), [&](auto algorithm) {
      return algorithm.convert(state, old.scale(), other.scale(), when);
    });
  };
  while (!(from == to)) {
    const View next = from.next();
    if (!next) return convert(from, to, now);
    state = convert(from, next, next.since());
    from = next;
  }
  return state;
}

template <class State, class View>
struct Account {
  const Charge* charge = nullptr;
  View shape{};           // the newest parameters for the charge
  std::size_t place = 0;  // accounts of one place share one state
  State stored{};         // the state as it is kept, read in `shape`
  Instant now{};          // the instant at which it is decided
  Step<State> step{};     // what decide_jointly() found
};

namespace detail {

template <class State, class View>
Step<State> step_of(const Account<State, View>& account, const State& state, std::uint64_t amount,
                    Op op) {
  return with_algorithm(account.shape.algorithm(), [&](auto algorithm) {
    return algorithm.decide(state, account.shape.scale(), account.now, amount, op,
                            account.charge->max_wait);
  });
}

// Decides one account. A second charge on one state starts where the one before it ended.
template <class State, class View>
void decide_after(std::span<const Account<State, View>> earlier, Account<State, View>& account) {
  State state = account.stored;
  std::uint64_t joint = account.charge->amount;
  for (const Account<State, View>& other : earlier) {
    if (other.place != account.place || !other.step.writes) continue;
    state = read_as(other.step.after, other.shape, account.shape, account.now);
    if (__builtin_add_overflow(joint, other.step.decision.granted(), &joint)) joint = ~0ULL;
  }
  account.step = step_of(account, state, account.charge->amount, account.charge->op);
  if (account.step.decision.limited() && joint > account.shape.scale().capacity) {
    // Together they never fit, so there is no instant to wait for.
    account.step = step_of(account, account.stored, joint, account.charge->op);
  }
}

// What an account hears that would have been served and is not, because of another one: what a
// look would say, or that it is allowed, with the state as it stands.
template <class State, class View>
void only_look(Account<State, View>& account) {
  account.step = step_of(account, account.stored, account.charge->amount, Op::peek);
  if (account.step.decision.allowed()) return;
  account.step = step_of(account, account.stored, 0, Op::take_up_to);
}

}  // namespace detail

// Decides all accounts in order and fills in their steps. True when every charge is admitted: then
// the last step of each place that writes is what to keep. Otherwise no step writes.
template <class State, class View>
bool decide_jointly(std::span<Account<State, View>> accounts) {
  bool taken = true;
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    detail::decide_after<State, View>(accounts.first(i), accounts[i]);
    taken = taken && accounts[i].step.decision.allowed();
  }
  if (taken) return true;
  for (Account<State, View>& account : accounts) {
    if (account.step.decision.allowed()) detail::only_look(account);
    account.step.writes = false;
  }
  return false;
}

}  // namespace suimon
