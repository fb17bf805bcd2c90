#include "suimon/door/refund_book.h"

namespace suimon::door {

void RefundBook::forget(Instant now) {
  while (!order_.empty() && now >= order_.front().noted + kRemembered) {
    const auto state = states_.find(order_.front().id);
    if (state != states_.end() && state->second.number == order_.front().number) {
      states_.erase(state);
    }
    order_.pop_front();
  }
}

RefundBook::Entry RefundBook::note(std::string_view id, Instant now) {
  forget(now);
  const Key key = key_of(secret_.key, id);
  if (const auto state = states_.find(key); state != states_.end()) {
    return state->second.made ? Entry::made : Entry::under_way;
  }
  if (order_.size() >= kMost) return Entry::full;
  states_.emplace(key, State{numbers_, false});
  order_.push_back({key, now, numbers_});
  ++numbers_;
  return Entry::fresh;
}

void RefundBook::settle(std::string_view id, bool made) {
  const auto state = states_.find(key_of(secret_.key, id));
  if (state == states_.end()) return;
  if (made) {
    state->second.made = true;
    return;
  }
  // The usual case, a mistake in the request, leaves nothing behind.
  if (order_.back().number == state->second.number) order_.pop_back();
  states_.erase(state);
}

}  // namespace suimon::door
