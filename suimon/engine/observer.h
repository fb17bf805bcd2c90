// Who hears of every verdict: declared here, implemented by observe, wired by the app.
#pragma once

#include <cstdint>

#include "suimon/engine/verdict.h"

namespace suimon {

// Which door a request came through: its place in the list that the app passes to observe.
using DoorId = std::uint8_t;

class Observer {
 public:
  virtual ~Observer() = default;

  // Called once per verdict, by the thread whose engine reached it; must not block.
  virtual void decided(DoorId door, const Verdict& verdict) = 0;

  // Whether Verdict::requests is to be there. Asked once; who does not ask for what clients sent
  // does not see it.
  virtual bool hears_requests() const { return false; }
};

}  // namespace suimon
