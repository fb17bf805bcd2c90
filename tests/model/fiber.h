// A stack of its own, at an address that never changes, on which code runs until it pauses.
//
// All that code at a pause will ever need is in the part of the stack that is in use: the registers
// that a call preserves are pushed there. So equal bytes mean an equal future.
//
// Thread rule: one thread, one fiber at a time. Code on it must not throw. x86-64.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace suimon::model {

class Fiber {
 public:
  Fiber();

  // Runs `body` from its start until it pauses or returns. What ran before is abandoned: its
  // destructors do not run.
  void start(const std::function<void()>& body);
  // Goes on after pause().
  void resume();
  bool has_returned() const { return returned_; }

  // From inside: gives way to whoever started or resumed.
  void pause();
  // From inside: zeroes what calls that have returned left below the caller, so that it does not
  // tell apart what is the same.
  void wipe();

  // The part of the stack that is in use, while the code pauses.
  std::span<const std::byte> used() const;

 private:
  static constexpr std::size_t kBytes = std::size_t{1} << 16;
  static constexpr std::size_t kDeepest = std::size_t{1} << 15;  // of what is wiped at a start
  static constexpr std::size_t kWiped = std::size_t{1} << 12;    // of what is wiped at a step

  [[noreturn]] static void enter();

  struct alignas(4096) Stack {
    std::byte bytes[kBytes];
  };
  std::unique_ptr<Stack> stack_;
  const std::function<void()>* body_ = nullptr;
  void* inside_ = nullptr;  // the stack pointers of who is not running
  void* outside_ = nullptr;
  bool returned_ = true;
};

}  // namespace suimon::model
