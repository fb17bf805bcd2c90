// Groups wait, leave in batches, and fail when they may not wait any longer.
#include "suimon/store/redis.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "suimon/store/redis/script.h"

namespace suimon {
namespace {

constexpr std::string_view kNoPlace = "redis: too many requests wait for the server";
constexpr std::string_view kNotSent = "redis: no answer in time, and not sent";
constexpr std::string_view kClosed = "redis: the store is closed";
constexpr std::string_view kNoShape = "redis: a limit that the store does not know";

double rate_of(const detail::Scale& scale) {
  return static_cast<double>(scale.scale) / static_cast<double>(scale.token);
}

}  // namespace

RedisStore::RedisStore(net::Loop& loop, std::unique_ptr<redis::Servers> servers,
                       const RedisOptions& options)
    : loop_(loop),
      servers_(std::move(servers)),
      options_(options),
      offset_known_(options.clock == RedisOptions::Clock::caller),
      flush_(loop, *this),
      expire_(loop, *this) {
  const unsigned usual = servers_->clustered() ? 64 : 1;
  const unsigned count = std::min(options_.shards == 0 ? usual : options_.shards, 1024U);
  options_.max_charges = std::clamp(options_.max_charges, kMostCharges, redis::Batch::kMostCharges);
  const bool tagged = servers_->clustered() || count > 1;
  for (const redis::Tag& tag : redis::even_tags(count)) {
    Shard& shard = shards_.emplace_back();
    shard.store = this;
    shard.name = tagged ? options_.prefix + "{" + tag.text + "}" : options_.prefix;
    shard.slot = tag.slot;
    shard.batch = std::make_unique<redis::Batch>();
  }
}

RedisStore::~RedisStore() {
  servers_.reset();  // nothing is heard from here on
  for (Shard& shard : shards_) {
    for (const auto& waiting : shard.sent) fail(waiting, kClosed, figures_.unknown);
    for (const auto& waiting : shard.queue) fail(waiting, kClosed, figures_.not_sent);
  }
}

Result<void> RedisStore::adopt(std::span<const Shape* const> shapes) {
  lineage_.adopt(shapes);
  return {};
}

void RedisStore::take(std::span<Group> groups, Instant now, Done done) {
  lineage_.refresh();
  if (groups.empty()) {
    done.run(done.context, {});
    return;
  }
  const bool closed = servers_ == nullptr;  // those who hear of the end may ask again
  if (closed || waiting_ + groups.size() > options_.max_waiting) {
    (closed ? figures_.not_sent : figures_.no_place).add(groups.size());
    for (Group& group : groups) group.failed = true;
    done.run(done.context, failure(std::string(closed ? kClosed : kNoPlace)));
    return;
  }
  Take& take = takes_.take();
  take.done = done;
  take.left = groups.size() + 1;  // it does not end before all of them are on their way
  take.decided = 0;
  take.error.clear();
  for (Group& group : groups) enqueue(group, take, now);
  finish(take, {});
}

void RedisStore::enqueue(Group& group, Take& take, Instant now) {
  assert(group.charges.size() <= kMostCharges && group.decisions.size() == group.charges.size());
  Waiting waiting{.group = &group, .take = &take, .now = now, .since = loop_.clock().now()};
  group.taken = group.failed = false;
  if (group.charges.empty()) {
    group.taken = true;
    ++take.decided;
    finish(take, {});
    return;
  }
  const auto count = static_cast<unsigned>(shards_.size());
  std::array<unsigned, kMostCharges> where{};
  bool spread = false;
  for (std::size_t i = 0; i < group.charges.size(); ++i) {
    if (lineage_.tier(group.charges[i].shape) == nullptr) {
      fail(waiting, kNoShape, figures_.bad_answer);
      return;
    }
    where[i] = redis::shard_of(group.charges[i].key, count);
    spread = spread || where[i] != where[0];
  }
  waiting.mask = static_cast<std::uint16_t>((1U << group.charges.size()) - 1);
  if (!spread) {
    put(shards_[where[0]], waiting);
    return;
  }
  Spread& its = spreads_.take();
  its.reset(waiting);
  for (std::size_t i = 0; i < group.charges.size(); ++i) {
    const double rate = rate_of(lineage_.tier(group.charges[i].shape)->scale);
    const auto end = its.steps.begin() + static_cast<std::ptrdiff_t>(its.count);
    auto step = std::find_if(its.steps.begin(), end,
                             [&](const Spread::Step& known) { return known.shard == where[i]; });
    if (step == end) {
      *step = {.shard = where[i], .mask = 0, .rate = rate};
      ++its.count;
    }
    step->mask = static_cast<std::uint16_t>(step->mask | 1U << i);
    step->rate = std::min(step->rate, rate);
  }
  std::sort(its.steps.begin(), its.steps.begin() + static_cast<std::ptrdiff_t>(its.count),
            [](const Spread::Step& a, const Spread::Step& b) { return a.rate < b.rate; });
  its.waiting.mask = its.steps[0].mask;
  put(shards_[its.steps[0].shard], its.waiting);
}

// In the place of a step there is one for each of its keys, the narrowest limits first.
void RedisStore::split(Waiting& waiting) {
  const auto charges = waiting.group->charges;
  Spread* its = waiting.spread;
  if (its == nullptr) {
    its = &spreads_.take();
    its->reset(waiting);
    its->count = 1;
  }
  const auto begin = its->steps.begin();
  const auto at = static_cast<std::ptrdiff_t>(its->at);
  const std::vector<Spread::Step> later(begin + at + 1,
                                        begin + static_cast<std::ptrdiff_t>(its->count));
  its->count = its->at;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if ((waiting.mask >> i & 1) == 0) continue;
    std::size_t first = 0;  // charge on that key
    while ((waiting.mask >> first & 1) == 0 || !(charges[first].key == charges[i].key)) ++first;
    const double rate = rate_of(lineage_.tier(charges[i].shape)->scale);
    std::size_t step = its->at;
    while (step < its->count && (its->steps[step].mask >> first & 1) == 0) ++step;
    if (step == its->count) {
      const auto shard = redis::shard_of(charges[i].key, static_cast<unsigned>(shards_.size()));
      its->steps[its->count++] = {.shard = shard, .mask = 0, .rate = rate};
    }
    Spread::Step& one = its->steps[step];
    one.mask = static_cast<std::uint16_t>(one.mask | 1U << i);
    one.rate = std::min(one.rate, rate);
  }
  std::sort(begin + at, begin + static_cast<std::ptrdiff_t>(its->count),
            [](const Spread::Step& a, const Spread::Step& b) { return a.rate < b.rate; });
  for (const Spread::Step& step : later) its->steps[its->count++] = step;
  waiting.spread = its;
  waiting.mask = its->steps[its->at].mask;
}

void RedisStore::put(Shard& shard, const Waiting& waiting) {
  shard.queue.push_back(waiting);
  ++waiting_;
  if (!shard.under_way) {
    flush_.soon();
  } else if (!expire_.armed()) {
    expire_.by(waiting.since + options_.timeout);
  }
}

void RedisStore::flush() {
  for (Shard& shard : shards_) {
    if (!shard.under_way && !(shard.queue.empty() && shard.patches.empty())) send(shard);
  }
}

// Whether there is a place for it in the batch that is being made.
bool RedisStore::fits(const Shard& shard, const Waiting& waiting) const {
  const redis::Batch& batch = *shard.batch;
  const auto count = static_cast<std::size_t>(std::popcount(waiting.mask));
  if (!batch.has_room(count) || batch.charges() + count > options_.max_charges) return false;
  if (batch.empty() || loop_.now() >= shard.narrow_until) return true;
  const auto charges = waiting.group->charges;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if ((waiting.mask >> i & 1) != 0 && !batch.only(charges[i].key)) return false;
  }
  return true;
}

// What waits for the shard, as far as it fits into one batch.
void RedisStore::send(Shard& shard) {
  redis::Batch& batch = *shard.batch;
  const bool callers = options_.clock == RedisOptions::Clock::caller;
  Instant now = loop_.now();
  if (callers && !shard.queue.empty()) now = shard.queue.front().now;
  batch.begin(shard.name, {.callers = callers, .now = now});
  for (const redis::Patch& patch : shard.patches) {
    if (!batch.has_room_for_patch()) break;
    if (loop_.now() < shard.narrow_until && !batch.only(patch.key)) break;
    batch.add(patch);
    ++shard.patches_sent;
  }
  while (!shard.queue.empty()) {
    const Waiting waiting = shard.queue.front();
    if (loop_.now() > waiting.since + options_.timeout) {
      shard.queue.pop_front();
      --waiting_;
      fail(waiting, kNotSent, figures_.not_sent);
      continue;
    }
    if (!fits(shard, waiting) || (callers && !(waiting.now == now))) break;
    if (offset_known_) {
      for (const Charge& charge : waiting.group->charges) {
        redis::Lineage::map(*lineage_.tier(charge.shape)->line, offset_);
      }
    }
    batch.add({.group = waiting.group, .mask = waiting.mask, .look = waiting.look}, lineage_);
    shard.sent.push_back(waiting);
    shard.queue.pop_front();
    --waiting_;
  }
  if (batch.empty()) return;
  batch.finish();
  shard.under_way = true;
  shard.sent_at = loop_.now();
  figures_.batches.add();
  figures_.charges.add(batch.charges());
  if (!shard.queue.empty()) expire_.by(shard.queue.front().since + options_.timeout);
  servers_->run(shard.slot, redis::take_script(), batch.keys(), batch.arguments(),
                {&RedisStore::heard, &shard});
}

// Whoever has waited for too long hears that it was not sent.
void RedisStore::expire() {
  Instant next = Instant::max();
  for (Shard& shard : shards_) {
    while (!shard.queue.empty()) {
      const Waiting waiting = shard.queue.front();
      const Instant deadline = waiting.since + options_.timeout;
      if (loop_.now() < deadline) {
        next = std::min(next, deadline);
        break;
      }
      shard.queue.pop_front();
      --waiting_;
      fail(waiting, kNotSent, figures_.not_sent);
    }
  }
  if (next != Instant::max()) expire_.by(next);
}

void RedisStore::fail(const Waiting& waiting, std::string_view why, redis::Count& count) {
  count.add();
  if (waiting.spread != nullptr) {
    take_back(*waiting.spread);
    spreads_.give_back(*waiting.spread);
  }
  waiting.group->taken = false;
  waiting.group->failed = true;
  finish(*waiting.take, why);
}

void RedisStore::finish(Take& take, std::string_view error) {
  if (take.error.empty()) take.error = error;
  if (--take.left > 0) return;
  const Done done = take.done;
  const std::string text = std::move(take.error);
  const bool some = text.empty() || take.decided > 0;
  takes_.give_back(take);
  if (some) {
    done.run(done.context, {});
  } else {
    done.run(done.context, failure(text));
  }
}

}  // namespace suimon
