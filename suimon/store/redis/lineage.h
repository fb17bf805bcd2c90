// Which parameters every limit and tier has had, and since when: what a record that was written
// under others needs to be read.
//
// Records say only p and q. Instants are on the store's clock; whatever a policy says in this
// process's own time is mapped once and then stays.
// Thread rule: adopt() by any thread; everything else by the loop's.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "suimon/core/joint.h"
#include "suimon/core/shapes.h"
#include "suimon/store/redis/record.h"

namespace suimon::redis {

// What a charge is decided by: the parameters in force and how far back records are read in them.
// A value, so that whoever has sent it understands the answer, whatever a policy has changed since.
struct Terms {
  Algorithm algorithm = Algorithm::token_bucket;
  detail::Scale scale;
  Instant since = Instant::min();    // as in Line
  Instant changed = Instant::min();  // as in Line
  bool mapped = false;               // both are on the store's clock
};

// The same as decide_jointly() sees it. What replaced others is no matter of it: records are
// converted before.
struct TierView {
  const Terms* terms = nullptr;

  Algorithm algorithm() const;
  const detail::Scale& scale() const;
  Instant since() const { return {}; }
  TierView next() const { return {}; }
  explicit operator bool() const { return terms != nullptr; }
  friend bool operator==(const TierView& a, const TierView& b);
};

// Parameters that are no more in force are remembered up to this number, by tier.
inline constexpr std::size_t kMostVersions = 32;

struct Version {
  std::uint64_t p = 1;
  std::uint64_t q = 1;
  Instant since;  // on this process's clock until it is mapped
  bool mapped = false;
};

struct Line;

struct Tier {
  Line* line = nullptr;
  std::string name;
  Algorithm algorithm = Algorithm::token_bucket;
  detail::Scale scale;           // in force
  std::deque<Version> versions;  // the last one is in force
};

// A limit.
struct Line {
  std::map<std::string, std::unique_ptr<Tier>, std::less<>> tiers;
  Instant since = Instant::min();    // the latest instant at which any parameters came into force
  Instant changed = Instant::min();  // the latest at which they replaced others
  std::vector<Tier*> unmapped;       // with versions that are not
  bool mapped() const { return unmapped.empty(); }
};

Terms terms_of(const Tier& tier);

inline bool told_in(const Record& record, const detail::Scale& scale) {
  return record.p == scale.scale && record.q == scale.token;
}

class Lineage {
 public:
  Lineage();

  void adopt(std::span<const Shape* const> shapes);
  // Takes over what was adopted since the last time.
  void refresh() {
    if (news_.load(std::memory_order_acquire)) take_news();
  }

  // Null for a number that was never adopted.
  Tier* tier(ShapeNumber number) const { return by_number_[number]; }

  // Maps what has not been mapped yet: an instant `offset` later on the store's clock.
  static void map(Line& line, Duration offset) {
    if (!line.mapped()) map_news(line, offset);
  }

  // Whether a record must be converted before it is decided on by `terms`, or may be read as that
  // of another tier. Until the limit is mapped every record must.
  static bool foreign(const Record& record, const Terms& terms);

  // The record as the tier's parameters read it, each change having taken effect as of its own
  // instant, a change of tier as of `now`. Requires a mapped line.
  static Record converted(const Record& record, const Tier& tier, Instant now);

 private:
  struct News {
    ShapeNumber number = 0;
    std::string limit;
    std::string tier;
    Algorithm algorithm = Algorithm::token_bucket;
    detail::Scale scale;
    Instant since;
    bool replaces = false;  // other parameters of the limit and tier
  };

  static void map_news(Line& line, Duration offset);
  void take_news();
  void add(const News& news);

  std::vector<Tier*> by_number_;
  std::map<std::string, Line> lines_;
  std::mutex mutex_;
  std::vector<News> adopted_;  // under the mutex
  std::atomic<bool> news_{false};
};

inline Algorithm TierView::algorithm() const { return terms->algorithm; }
inline const detail::Scale& TierView::scale() const { return terms->scale; }
inline bool operator==(const TierView& a, const TierView& b) {
  if (a.terms == b.terms) return true;
  return a.terms != nullptr && b.terms != nullptr && a.terms->scale.scale == b.terms->scale.scale &&
         a.terms->scale.token == b.terms->scale.token;
}

}  // namespace suimon::redis
