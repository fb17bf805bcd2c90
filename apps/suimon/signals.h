// Signals as events of a loop, by signalfd(2).
//
// Thread rule: made before the first other thread, so that all of them leave the signals to this
// one; after that the loop's thread.
#pragma once

#include <csignal>
#include <functional>
#include <initializer_list>
#include <utility>

#include "suimon/net/loop.h"

namespace suimon::app {

class Signals final : public net::Watcher {
 public:
  Signals(net::Loop& loop, std::initializer_list<int> numbers, std::function<void(int)> arrived);
  ~Signals() override;
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // False where the system refuses; then no signal is heard.
  explicit operator bool() const { return static_cast<bool>(fd_); }

  void on_ready(std::uint32_t events) override;

 private:
  net::Loop& loop_;
  std::function<void(int)> arrived_;
  net::Fd fd_;
};

}  // namespace suimon::app
