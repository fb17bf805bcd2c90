// The refusals of one event loop, on their way to the log: chosen here, written down elsewhere.
//
// Thread rule: decided() by the loop's thread, ring() by the thread that writes, dropped() by any.
// decided() takes no lock and makes no system call; what finds no place is counted.
#pragma once

#include "suimon/observe/counters.h"
#include "suimon/observe/event.h"
#include "suimon/observe/line_budget.h"
#include "suimon/observe/ring.h"
#include "suimon/policy/settings.h"

namespace suimon {

class LoopEvents final : public Observer {
 public:
  // `next` hears of every verdict, too. At most `per_second` refusals a second go on from here.
  LoopEvents(Observer& next, Identify identify, std::uint64_t per_second);

  void decided(DoorId door, const Verdict& verdict) override;
  bool hears_requests() const override { return identify_ != Identify::none; }

  Ring<Event>& ring() { return ring_; }
  // Refusals that are not written down: too many in a second, or the ring was full.
  std::uint64_t dropped() const { return dropped_.value(); }

 private:
  void refused(DoorId door, const Verdict& verdict, const Judged& judged, std::size_t limit,
               Event::Kind kind);
  void show_client(const Verdict& verdict, const Applied& applied, Event& event) const;

  Observer& next_;
  const Identify identify_;
  LineBudget budget_;
  Ring<Event> ring_;
  Counter dropped_;
};

}  // namespace suimon
