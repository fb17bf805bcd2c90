#include "tests/model/behaviour.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace suimon::model {

Behaviour::Behaviour(Cells& cells, Program program)
    : cells_(cells), program_(std::move(program)), body_([this] { program_(thread_); }) {
  assert(current_ == nullptr);
  current_ = this;
  roots_.fill(kNone);
}

NodeId Behaviour::root(unsigned thread) {
  if (roots_[thread] == kNone) {
    replay(thread, kNone);
    roots_[thread] = stand(kNone, {});
  }
  return roots_[thread];
}

NodeId Behaviour::next(NodeId node, const Answer& answer) {
  for (std::uint32_t edge = nodes_[node].first_edge; edge != kNone; edge = edges_[edge].next) {
    if (edges_[edge].answer == answer) return edges_[edge].target;
  }
  return extend(node, answer);
}

NodeId Behaviour::extend(NodeId node, const Answer& answer) {
  if (paused_at_ != node) replay(nodes_[node].thread, node);
  fresh_ = answer;
  fiber_.resume();
  const NodeId target = stand(node, answer);
  edges_.push_back({answer, target, nodes_[node].first_edge});
  nodes_[node].first_edge = static_cast<std::uint32_t>(edges_.size() - 1);
  return target;
}

// Brings the fiber to where `node` stands.
void Behaviour::replay(unsigned thread, NodeId node) {
  script_.clear();
  for (NodeId at = node; at != kNone && nodes_[at].parent != kNone; at = nodes_[at].parent) {
    script_.push_back(nodes_[at].answer);
  }
  std::reverse(script_.begin(), script_.end());
  forget_own_stores();
  thread_ = thread;
  local_ = {};
  told_ = 0;
  fiber_.start(body_);
}

// The node where the fiber stands now.
NodeId Behaviour::stand(NodeId parent, const Answer& answer) {
  if (fiber_.has_returned()) pending_ = {};
  const auto [place, fresh] = known_.try_emplace(identity(), static_cast<NodeId>(nodes_.size()));
  paused_at_ = fiber_.has_returned() ? kNone : place->second;
  if (!fresh) return place->second;
  if (parent == kNone || !(local_ == local(parent))) locals_.push_back(local_);
  const bool same = parent != kNone && local_ == local(parent);
  nodes_.push_back(
      {.operation = pending_,
       .answer = answer,
       .parent = parent,
       .local = same ? nodes_[parent].local : static_cast<std::uint32_t>(locals_.size() - 1),
       .thread = thread_});
  return place->second;
}

// What the future of the thread depends on. What has ended has none: only what it was told counts.
Hash Behaviour::identity() const {
  Digest digest;
  digest.add(thread_);
  digest.add(std::as_bytes(std::span(&local_, 1)));
  if (!fiber_.has_returned()) {
    digest.add(static_cast<std::uint64_t>(pending_.kind) << 16 | pending_.cell);
    for (const table::Slot& slot : {pending_.expected, pending_.desired}) {
      digest.add(slot.id);
      digest.add(slot.word);
    }
    Hash stored;
    for (const Stored& store : own_stores_) {
      const auto number = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(store.word));
      stored += part(number, *store.word);
    }
    digest.add(stored.a);
    digest.add(stored.b);
    digest.add(fiber_.used());
  }
  return digest.hash();
}

[[gnu::noinline]] Answer Behaviour::perform(Operation::Kind kind, const void* word,
                                            const table::Slot& expected,
                                            const table::Slot& desired) {
  fiber_.wipe();
  if (told_ == script_.size()) {
    pending_ = {kind, static_cast<std::uint16_t>(cells_.of(word)), expected, desired};
    fiber_.pause();
    script_.push_back(fresh_);
  }
  if (kind == Operation::Kind::store) {
    keep_own_store(static_cast<std::uint64_t*>(const_cast<void*>(word)), desired.id);
  }
  return script_[told_++];
}

void Behaviour::inherit(std::uint64_t* word) {
  keep_own_store(word, perform(Operation::Kind::load, word).low);
}

// What the thread itself has stored lies in the real region while it runs, because it reads some of
// it back without a step.
void Behaviour::keep_own_store(std::uint64_t* place, std::uint64_t value) {
  const bool known = std::any_of(own_stores_.begin(), own_stores_.end(),
                                 [&](const Stored& store) { return store.word == place; });
  if (!known) own_stores_.push_back({place, *place});
  *place = value;
}

void Behaviour::forget_own_stores() {
  for (const Stored& store : own_stores_) *store.word = store.before;
  own_stores_.clear();
}

}  // namespace suimon::model
