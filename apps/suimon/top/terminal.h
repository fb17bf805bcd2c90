// The terminal while suimon top has it: a second screen, no echo, keys at once.
//
// It is as it was before when the object goes, whatever ends the program but SIGKILL.
#pragma once

#include <termios.h>

#include <string_view>

#include "apps/suimon/top/screen.h"

namespace suimon::app {

class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  ScreenSize size() const;
  // Puts `screen` in the place of what is shown.
  void show(std::string_view screen) const;

 private:
  termios before_{};
  bool changed_ = false;
};

}  // namespace suimon::app
