// What the answers to batches mean for the groups in them.
#include <bit>

#include "suimon/store/redis.h"
#include "suimon/store/redis/command.h"

namespace suimon {
namespace {

constexpr std::string_view kChanging =
    "redis: the record is converted again and again; do processes have different policies?";
constexpr std::string_view kDisputed =
    "redis: the script and this program decide differently; this is a fault of suimon";

std::string_view why(const redis::Value& value) {
  return value.text.empty() ? std::string_view("redis: an answer that is none of the script's")
                            : value.text;
}

}  // namespace

void RedisStore::heard(void* context, redis::Fate fate, const redis::Value& value) {
  Shard& shard = *static_cast<Shard*>(context);
  shard.store->on_answer(shard, fate, value);
}

void RedisStore::on_answer(Shard& shard, redis::Fate fate, const redis::Value& value) {
  redis::Batch& batch = *shard.batch;
  if (fate == redis::Fate::answered) figures_.round_trips.add(loop_.now() - shard.sent_at);
  shard.under_way = false;
  if (fate == redis::Fate::not_run && redis::has_code(value, "TRYAGAIN") && narrow(shard)) {
    flush_.soon();
    return;
  }
  const auto patches = shard.patches.begin();
  shard.patches.erase(patches, patches + static_cast<std::ptrdiff_t>(shard.patches_sent));
  shard.patches_sent = 0;
  shard.under_way = true;  // whoever hears of it may ask again, for the next batch
  if (fate == redis::Fate::answered && batch.read(value)) {
    if (options_.clock == RedisOptions::Clock::server) {
      // The answer was written before it was read, so nothing is mapped to a later instant than its
      // own.
      offset_ = batch.at() - loop_.now();
      offset_known_ = true;
    }
    told(true, {});
    on_words(shard);
  } else {
    redis::Count& count = fate == redis::Fate::not_run   ? figures_.not_run
                          : fate == redis::Fate::unknown ? figures_.unknown
                                                         : figures_.bad_answer;
    const std::vector<Waiting> sent = std::move(shard.sent);
    shard.sent.clear();
    const std::string text(why(value));
    told(false, text);
    for (const Waiting& waiting : sent) fail(waiting, text, count);
  }
  shard.under_way = false;
  if (!shard.queue.empty() || !shard.patches.empty()) flush_.soon();
}

// The slot is on the move, so its keys are in two places, and a call runs only where all of its
// keys are; one that is nowhere yet is made at the new place. Nothing has run. True: all of it is
// tried again, by calls about one key each, or about one group; such a group comes here once more
// when its keys are apart, and goes on key by key.
bool RedisStore::narrow(Shard& shard) {
  if (shard.batch->keys().size() < 2) return false;
  shard.narrow_until = loop_.now() + kNarrowFor;
  if (shard.sent.size() == 1 && shard.patches_sent == 0) split(shard.sent.front());
  shard.patches_sent = 0;
  shard.queue.insert(shard.queue.begin(), shard.sent.begin(), shard.sent.end());
  waiting_ += shard.sent.size();
  shard.sent.clear();
  return true;
}

// Operators hear when it begins to go wrong and when that is over, each at most every kTellEvery.
void RedisStore::told(bool well, std::string_view text) {
  if (well == well_ || !options_.complain || loop_.now() < tell_again_) return;
  well_ = well;
  tell_again_ = loop_.now() + kTellEvery;
  options_.complain(well ? "redis: the store answers again"
                         : std::string(text) + "; limits go by on_store_error meanwhile");
}

// `done` may call take(), which adds to queues and to nothing else.
void RedisStore::on_words(Shard& shard) {
  redis::Batch& batch = *shard.batch;
  again_.clear();
  for (std::size_t part = 0; part < shard.sent.size(); ++part) {
    const Waiting& waiting = shard.sent[part];
    if (batch.word(part) == redis::Batch::Word::undecided) {
      try_again(shard, part);
    } else if (waiting.spread == nullptr) {
      decide(shard, part);
    } else {
      decide_step(shard, part);
    }
  }
  shard.sent.clear();
  shard.queue.insert(shard.queue.begin(), again_.begin(), again_.end());
  waiting_ += again_.size();
}

void RedisStore::try_again(Shard& shard, std::size_t part) {
  Waiting waiting = shard.sent[part];
  if (++waiting.tries > kMostTries) {
    fail(waiting, kChanging, figures_.bad_answer);
    return;
  }
  for (const Charge& charge : waiting.group->charges) {
    redis::Lineage::map(*lineage_.tier(charge.shape)->line, offset_);
  }
  const std::size_t before = shard.patches.size();
  shard.batch->convert(part, shard.patches);
  figures_.conversions.add(shard.patches.size() - before);
  figures_.retries.add();
  again_.push_back(waiting);
}

// The charges of a group, all of whose keys lie in the shard.
void RedisStore::decide(Shard& shard, std::size_t part) {
  redis::Batch& batch = *shard.batch;
  const Waiting& waiting = shard.sent[part];
  const bool taken = batch.decide(part, accounts_);
  if (taken != (batch.word(part) == redis::Batch::Word::taken)) {
    dispute(waiting);
    return;
  }
  for (std::size_t i = 0; i < waiting.group->decisions.size(); ++i) {
    waiting.group->decisions[i] = accounts_[i].step.decision;
  }
  waiting.group->taken = taken;
  figures_.groups.add();
  ++waiting.take->decided;
  finish(*waiting.take, {});
}

void RedisStore::dispute(const Waiting& waiting) {
  if (options_.complain && loop_.now() >= dispute_again_) {
    dispute_again_ = loop_.now() + kTellEvery;
    options_.complain(kDisputed);
  }
  fail(waiting, kDisputed, figures_.disputed);
}

// Those charges of a group whose keys lie in the shard, while others lie elsewhere.
void RedisStore::decide_step(Shard& shard, std::size_t part) {
  redis::Batch& batch = *shard.batch;
  const Waiting& waiting = shard.sent[part];
  Spread& spread = *waiting.spread;
  const auto charges = waiting.group->charges;
  std::array<std::string, kMostCharges> before;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if ((waiting.mask >> i & 1) != 0) before[i] = batch.record(charges[i].key);
  }
  const bool taken = batch.decide(part, accounts_);
  if (!waiting.look && taken != (batch.word(part) == redis::Batch::Word::taken)) {
    dispute(waiting);
    return;
  }
  if (!taken) spread.refused = true;
  for (std::size_t i = 0, at = 0; i < charges.size(); ++i) {
    if ((waiting.mask >> i & 1) == 0) continue;
    Account& account = accounts_[at++];
    waiting.group->decisions[i] = account.step.decision;
    if (!account.step.decision.allowed()) continue;
    if (taken && !waiting.look) {
      // Whoever comes later, in this batch too, changes the record, and it is not replaced any
      // more.
      spread.note(charges[i], account, std::move(before[i]), batch.record(charges[i].key));
    }
    detail::only_look<Ledger, redis::TierView>(account);
    spread.looks[i] = account.step.decision;
  }
  step_on(spread);
}

// A step of the spread is decided.
void RedisStore::step_on(Spread& spread) {
  if (spread.refused) {
    take_back(spread);
    for (std::size_t i = 0; i < spread.waiting.group->charges.size(); ++i) {
      Decision& decision = spread.waiting.group->decisions[i];
      if ((spread.heard() >> i & 1) != 0 && decision.allowed()) decision = spread.looks[i];
    }
  }
  if (++spread.at < spread.count) {
    Waiting next = spread.waiting;
    next.mask = spread.steps[spread.at].mask;
    next.look = spread.refused;
    put(shards_[spread.steps[spread.at].shard], next);
    return;
  }
  const Waiting waiting = spread.waiting;
  waiting.group->taken = !spread.refused;
  spreads_.give_back(spread);
  figures_.groups.add();
  ++waiting.take->decided;
  finish(*waiting.take, {});
}

// What other shards have given for a group that is not taken after all.
void RedisStore::take_back(Spread& spread) {
  for (auto& [its, patch] : spread.taken) {
    Shard& shard = shards_[its];
    if (shard.patches.size() >= kMostPatches) continue;  // counts as spent
    shard.patches.push_back(std::move(patch));
    figures_.given_back.add();
  }
  if (!spread.taken.empty()) flush_.soon();
  spread.taken.clear();
}

}  // namespace suimon
