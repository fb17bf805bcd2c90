#include "suimon/store/redis/lineage.h"

#include <algorithm>

namespace suimon::redis {
namespace {

detail::Scale scale_of(std::uint64_t p, std::uint64_t q) {
  return {.scale = p, .token = q, .capacity = 1, .shift = 0};
}

bool told_in(const Record& record, const Version& version) {
  return record.p == version.p && record.q == version.q;
}

Record convert(const Record& record, const Version& to, Algorithm algorithm, Instant when) {
  return with_algorithm(algorithm, [&](auto kind) {
    return Record{
        kind.convert(record.ledger, scale_of(record.p, record.q), scale_of(to.p, to.q), when), to.p,
        to.q};
  });
}

constexpr std::size_t kNone = ~std::size_t{0};

// The version that was in force at the record's instant, if the record is told in it.
std::size_t version_at(const Record& record, const Tier& tier) {
  for (std::size_t i = tier.versions.size(); i-- > 0;) {
    if (tier.versions[i].since > record.ledger.at) continue;
    return told_in(record, tier.versions[i]) ? i : kNone;
  }
  return kNone;
}

// The latest one that the record may be told in.
std::size_t latest_version(const Record& record, const Tier& tier) {
  for (std::size_t i = tier.versions.size(); i-- > 0;) {
    if (told_in(record, tier.versions[i])) return i;
  }
  return kNone;
}

struct Origin {
  const Tier* tier = nullptr;
  std::size_t version = kNone;
};

// Where a record comes from: this tier rather than another one, and what was in force when it was
// written rather than what another process, whose policy changed a moment earlier, may have had.
Origin origin_of(const Record& record, const Tier& tier) {
  for (const auto find : {version_at, latest_version}) {
    if (const std::size_t own = find(record, tier); own != kNone) return {&tier, own};
    for (const auto& [name, other] : tier.line->tiers) {
      if (const std::size_t its = find(record, *other); its != kNone) return {other.get(), its};
    }
  }
  return {};
}

}  // namespace

Lineage::Lineage() : by_number_(Shapes::kMost, nullptr) {}

void Lineage::adopt(std::span<const Shape* const> shapes) {
  const std::lock_guard lock(mutex_);
  for (const Shape* shape : shapes) {
    adopted_.push_back({shape->number, shape->limit, shape->tier, shape->algorithm, shape->exact,
                        shape->since, shape->predecessor != nullptr});
  }
  news_.store(true, std::memory_order_release);
}

void Lineage::take_news() {
  std::vector<News> news;
  {
    const std::lock_guard lock(mutex_);
    news.swap(adopted_);
    news_.store(false, std::memory_order_relaxed);
  }
  for (const News& one : news) add(one);
}

void Lineage::add(const News& news) {
  Line& line = lines_[news.limit];
  std::unique_ptr<Tier>& place = line.tiers[news.tier];
  if (place == nullptr) {
    place = std::make_unique<Tier>();
    place->line = &line;
    place->name = news.tier;
  }
  Tier& tier = *place;
  by_number_[news.number] = &tier;
  tier.algorithm = news.algorithm;
  tier.scale = news.scale;
  if (!tier.versions.empty()) {
    // Adopted again, unchanged or with another capacity: what a record means stays.
    const Version& last = tier.versions.back();
    if (last.p == news.scale.scale && last.q == news.scale.token) return;
    // Another meaning of the same name, and nobody owes anything under the old one.
    if (!news.replaces) tier.versions.clear();
  }
  tier.versions.push_back(
      {.p = news.scale.scale, .q = news.scale.token, .since = news.since, .mapped = false});
  if (tier.versions.size() > kMostVersions) tier.versions.pop_front();
  line.unmapped.push_back(&tier);
}

void Lineage::map_news(Line& line, Duration offset) {
  for (Tier* tier : line.unmapped) {
    for (std::size_t i = 0; i < tier->versions.size(); ++i) {
      Version& version = tier->versions[i];
      if (version.mapped) continue;
      if (version.since != Instant::min()) version.since = version.since + offset;
      version.mapped = true;
      line.since = std::max(line.since, version.since);
      if (i > 0) line.changed = std::max(line.changed, version.since);
    }
  }
  line.unmapped.clear();
}

Terms terms_of(const Tier& tier) {
  return {.algorithm = tier.algorithm,
          .scale = tier.scale,
          .since = tier.line->since,
          .changed = tier.line->changed,
          .mapped = tier.line->mapped()};
}

bool Lineage::foreign(const Record& record, const Terms& terms) {
  if (!terms.mapped || record.ledger.at < terms.changed) return true;
  return !told_in(record, terms.scale) && record.ledger.at < terms.since;
}

Record Lineage::converted(const Record& record, const Tier& tier, Instant now) {
  Record result = record;
  const auto [from, version] = origin_of(record, tier);
  if (from == nullptr) {
    result = convert(result, tier.versions.back(), tier.algorithm, tier.versions.back().since);
  } else {
    for (std::size_t next = version + 1; next < from->versions.size(); ++next) {
      result = convert(result, from->versions[next], from->algorithm, from->versions[next].since);
    }
    if (from != &tier) result = convert(result, tier.versions.back(), tier.algorithm, now);
  }
  // From here on it is nobody's past any more.
  return convert(result, tier.versions.back(), tier.algorithm, tier.line->since);
}

}  // namespace suimon::redis
