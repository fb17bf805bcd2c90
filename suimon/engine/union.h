// The limits of several requests that are decided as one: each charge once.
//
// Envoy describes one request by several descriptors, and a limit may apply by more than one of
// them: an address to [client_ip] and to [client_ip, path]. It is one request all the same, so a
// limit is charged once under one key: the largest of the amounts, in the tier that is named. A
// limit that lacks its attribute in one part and finds it in another lacks nothing.
// Thread rule: belongs to one engine; allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "suimon/engine/verdict.h"

namespace suimon {

class Union {
 public:
  static constexpr std::size_t kMost = 64;  // requests

  void clear();
  // Adds what matched request number `part`. Does nothing once good() is false.
  void add(std::size_t part, const Matched& matched);
  // Whether nothing is wrong yet.
  bool good() const { return status_ == Matched::Status::ok; }
  // All of it as one. After this, parts() says which enforced limits apply to which request.
  void finish(Matched& out);
  std::span<const LimitSet> parts(std::size_t count) const { return {parts_.data(), count}; }
  // Of the limits at these places only: the others have gone, and those behind them moved up.
  void keep(LimitSet places);

 private:
  // The limits of one kind.
  struct Side {
    std::size_t charged = 0;
    std::size_t missing = 0;
    std::array<Applied, kMostCharges> applied;
    std::array<Charge, kMostCharges> charges;
    std::array<Applied, kMostCharges> lacking;
    std::array<LimitSet, kMost> charged_of{};
    std::array<LimitSet, kMost> lacking_of{};

    std::size_t place_of(const Applied& applied, const Charge& charge);
    std::size_t place_of(const Applied& lacks);
    void write(Charged& out, std::span<LimitSet> parts) const;
  };

  void add(Side& side, std::size_t part, const Charged& from);

  Matched::Status status_ = Matched::Status::ok;
  std::size_t count_ = 0;  // of requests
  Side enforced_;
  Side shadows_;
  std::array<LimitSet, kMost> parts_{};
};

}  // namespace suimon
