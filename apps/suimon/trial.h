// A policy on trial: made-up requests, new state, virtual time. What check, explain and key-hash
// share, with the errors that they print.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/base/clock.h"
#include "suimon/engine/engine.h"
#include "suimon/store/reference.h"

namespace suimon::app {

// What "name=value" arguments ask: views into them.
struct Asked {
  std::string_view domain;
  std::vector<Attribute> attributes;
};

// Nothing when one is no name=value or stands twice, which is then printed.
std::optional<Asked> read_asked(const std::vector<std::string>& arguments);

// Warns of names that no limit looks at, and says what was probably meant.
void doubt_names(const Asked& asked, const Policy& policy);

// Why there is no decision, as a sentence with the cure.
const char* why_not(Verdict::Status status);

class Trial {
 public:
  // Loads the policy and numbers it under `secret`; null when it has mistakes, which are printed.
  static std::unique_ptr<Trial> open(const std::string& config, const Secret& secret,
                                     Instant start = {});

  Engine& engine() { return *engine_; }
  ManualClock& clock() { return clock_; }

 private:
  explicit Trial(const Secret& secret, Instant start) : live_(store_, secret), clock_(start) {}

  class Nobody final : public Observer {
   public:
    void decided(DoorId, const Verdict&) override {}
  };

  ReferenceStore store_{{}};
  LivePolicy live_;
  ManualClock clock_;
  Nobody nobody_;
  std::unique_ptr<Engine> engine_;  // once there is a policy
};

}  // namespace suimon::app
