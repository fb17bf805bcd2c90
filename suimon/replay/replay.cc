#include "suimon/replay/replay.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>

#include "suimon/base/clock.h"
#include "suimon/engine/engine.h"
#include "suimon/replay/records.h"
#include "suimon/store/reference.h"

namespace suimon {
namespace {

struct KeyHash {
  using is_avalanching = void;  // a Key is a keyed hash already
  std::size_t operator()(const Key& key) const { return key.low; }
};

// One key of one limit.
struct Tally {
  std::uint32_t first = 0;  // the record that showed it first
  std::uint32_t refused = 0;
};

using Tallies = boost::unordered_flat_map<Key, Tally, KeyHash>;

class Unobserved final : public Observer {
 public:
  void decided(DoorId /*door*/, const Verdict& /*verdict*/) override {}
};

// The attributes of a line. An absent one ("-" in the log) is left out, as a door would.
class LineAttributes {
 public:
  LineAttributes(const Record& record, const ClientIpRule& rule) {
    add("client_ip", client_of(record, rule, client_));
    add("user", unescape(record.text(record.user), user_));
    add("method", record.text(record.method));
    add("path", unescape(record.text(record.target), path_));
    add("user_agent", unescape(record.text(record.user_agent), user_agent_));
  }
  LineAttributes(const LineAttributes&) = delete;
  LineAttributes& operator=(const LineAttributes&) = delete;

  std::span<const Attribute> all() const { return {all_.data(), count_}; }
  std::string_view client() const { return all_[0].value; }

 private:
  void add(std::string_view name, std::string_view value) {
    const bool absent = value.empty() || value == "-";
    if (!absent || name == "client_ip") all_[count_++] = {name, value};
  }

  std::array<Attribute, 5> all_;
  std::size_t count_ = 0;
  std::array<char, 64> client_;
  std::string user_, path_, user_agent_;
};

// The values of a limit's key as the limit sees them, joined by ", ".
std::string values_of_key(const Ruleset& ruleset, const LimitRule& rule, const Record& record) {
  const LineAttributes attributes(record, ruleset.client_ip);
  std::string joined;
  std::string path;
  for (std::size_t part = 0; part < rule.key.size(); ++part) {
    const std::string& name = ruleset.attributes[rule.key[part]];
    std::string_view value = rule.substitute;
    for (const Attribute& attribute : attributes.all()) {
      if (attribute.name == name) value = attribute.value;
    }
    if (name == "path" && normalize_path(value, path)) value = path;
    if (part > 0) joined += ", ";
    joined += value;
  }
  return joined;
}

std::string hex(const Key& key) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t word : {key.high, key.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(word >> shift) & 15];
  }
  return text;
}

// Decides records one by one and keeps count.
class Counter {
 public:
  Counter(const LivePolicy& live, Store& store, const ReplaySettings& settings)
      : settings_(settings),
        store_(store),
        policy_(live.current()),
        ruleset_(*policy_->find(settings.domain)),
        engine_(live, store, unobserved_, clock_),
        tallies_(ruleset_.limits.size()),
        client_key_(derive(settings.secret, "replay", "clients")) {
    for (const LimitRule& rule : ruleset_.limits) {
      report_.limits.emplace_back().name = rule.name;
    }
  }

  void decide(const Record& record, std::uint32_t place) {
    const LineAttributes attributes(record, ruleset_.client_ip);
    const Request request{.domain = settings_.domain, .attributes = attributes.all()};
    place_ = place;
    client_ = key_of(client_key_, attributes.client());
    clock_.set(Instant(std::chrono::seconds(record.seconds)));
    engine_.wake(clock_.now());
    engine_.decide({&request, 1}, DoorId{0},
                   {[](void* self, std::span<const Verdict> verdicts) {
                      static_cast<Counter*>(self)->count(verdicts.front());
                    },
                    this});
  }

  Report report(const std::vector<Record>& records) {
    report_.requests = records.size();
    if (!records.empty()) {
      report_.first = records.front().seconds;
      report_.last = records.back().seconds;
    }
    report_.overflows = store_.figures().overflows;
    report_.clients = clients_.size();
    for (const auto& [key, refused] : clients_) report_.clients_refused += refused ? 1 : 0;
    for (std::size_t i = 0; i < tallies_.size(); ++i) fill_keys(i, records);
    return std::move(report_);
  }

 private:
  void count(const Verdict& verdict) {
    bool& client_refused = clients_[client_];
    switch (verdict.status) {
      case Verdict::Status::bad_path:
        ++report_.bad_paths;
        return;
      case Verdict::Status::too_many_limits:
        ++report_.too_many_limits;
        return;
      case Verdict::Status::decided:
      case Verdict::Status::unknown_domain:  // cannot be: the domain was found at the start
      case Verdict::Status::store_failed:    // nor can this: the store is memory
        break;
    }
    if (verdict.allowed()) {
      ++report_.allowed;
    } else {
      ++report_.refused;
      client_refused = true;
    }
    for (std::size_t i = 0; i < verdict.applied.size(); ++i) {
      const std::uint32_t limit = verdict.applied[i].rule->index;
      const bool refused = verdict.outcome_of(i) != Outcome::allowed;
      ++(refused ? report_.limits[limit].refused : report_.limits[limit].allowed);
      if (i >= verdict.decisions.size()) continue;  // refused because its key is missing
      Tally& tally =
          tallies_[limit].try_emplace(verdict.charges[i].key, Tally{place_, 0}).first->second;
      tally.refused += refused ? 1 : 0;
    }
  }

  void fill_keys(std::size_t limit, const std::vector<Record>& records) {
    Report::OfLimit& out = report_.limits[limit];
    std::vector<std::pair<Key, Tally>> refused;
    for (const auto& entry : tallies_[limit]) {
      if (entry.second.refused > 0) refused.push_back(entry);
    }
    out.keys = tallies_[limit].size();
    out.keys_refused = refused.size();
    const auto top =
        refused.begin() + static_cast<std::ptrdiff_t>(std::min(refused.size(), Report::kWorst));
    // Equals go by their first request, so that the order does not hang on the secret. (Two keys
    // of one limit cannot share a request.)
    std::partial_sort(refused.begin(), top, refused.end(), [](const auto& a, const auto& b) {
      if (a.second.refused != b.second.refused) return a.second.refused > b.second.refused;
      return a.second.first < b.second.first;
    });
    for (auto worst = refused.begin(); worst != top; ++worst) {
      const auto& [key, tally] = *worst;
      out.worst.push_back({settings_.show_keys ? values_of_key(ruleset_, ruleset_.limits[limit],
                                                               records[tally.first])
                                               : hex(key),
                           tally.refused});
    }
  }

  const ReplaySettings& settings_;
  const Store& store_;
  std::shared_ptr<const Policy> policy_;
  const Ruleset& ruleset_;
  Unobserved unobserved_;
  ManualClock clock_;
  Engine engine_;
  std::vector<Tallies> tallies_;  // by limit
  SipKey client_key_;
  boost::unordered_flat_map<Key, bool, KeyHash> clients_;  // and whether they were refused
  std::uint32_t place_ = 0;                                // of the request that is being decided
  Key client_;                                             // of that request
  Report report_;
};

std::string domains_of(const Policy& policy) {
  std::string names;
  for (const Ruleset& ruleset : policy.rulesets) {
    names += (names.empty() ? "" : ", ") + ruleset.domain;
  }
  return names;
}

}  // namespace

Result<Report> replay(Policy policy, std::span<const LogFile> logs,
                      const ReplaySettings& settings) {
  if (policy.find(settings.domain) == nullptr) {
    return settings.domain.empty()
               ? failure("the policy has " + std::to_string(policy.rulesets.size()) + " domains (" +
                         domains_of(policy) + "); replay one file of one domain")
               : failure("the policy has no domain " + settings.domain + "; it has " +
                         domains_of(policy));
  }
  ReferenceStore store({.max_keys = settings.max_keys});
  LivePolicy live(store, settings.secret);
  if (auto installed = live.install(std::move(policy), Instant::min()); !installed) {
    return tl::unexpected(installed.error());
  }
  Records records = read_records(logs, Report::kBadLinesNamed);
  Counter counter(live, store, settings);
  std::uint32_t place = 0;
  for (const Record& record : records.in_order) counter.decide(record, place++);
  Report report = counter.report(records.in_order);
  report.bad_lines = records.bad_lines;
  report.bad_line_reasons = std::move(records.bad_line_reasons);
  return report;
}

}  // namespace suimon
