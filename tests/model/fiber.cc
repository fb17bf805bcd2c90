#include "tests/model/fiber.h"

#include <array>
#include <cstdint>
#include <cstring>

// Leaves one stack and goes on where another was left: `left` receives the stack pointer.
extern "C" void suimon_model_switch(void** left, void* entered);
asm(R"(
    .text
    .globl suimon_model_switch
    .type suimon_model_switch, @function
suimon_model_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size suimon_model_switch, . - suimon_model_switch
)");

namespace suimon::model {
namespace {

Fiber* entering = nullptr;

}  // namespace

Fiber::Fiber() : stack_(std::make_unique<Stack>()) {}

void Fiber::start(const std::function<void()>& body) {
  body_ = &body;
  returned_ = false;
  std::byte* const top = stack_->bytes + kBytes;
  std::memset(top - kDeepest, 0, kDeepest);
  // As if enter() had been called by nobody and had called the switch: six registers, then where
  // to return to, then the caller's return address, below which a stack is aligned.
  void (*const entry)() = &Fiber::enter;
  std::memcpy(top - 16, &entry, sizeof entry);
  inside_ = top - 16 - 6 * sizeof(std::uint64_t);
  entering = this;
  suimon_model_switch(&outside_, inside_);
}

void Fiber::resume() { suimon_model_switch(&outside_, inside_); }

void Fiber::enter() {
  Fiber& fiber = *entering;
  (*fiber.body_)();
  fiber.returned_ = true;
  fiber.pause();
  __builtin_unreachable();
}

void Fiber::pause() { suimon_model_switch(&inside_, outside_); }

[[gnu::noinline]] void Fiber::wipe() {
  // This call and the one to memset() lie in the margin.
  constexpr std::size_t kMargin = 128;
  auto* const here = static_cast<std::byte*>(__builtin_frame_address(0));
  std::memset(here - kMargin - kWiped, 0, kWiped);
}

std::span<const std::byte> Fiber::used() const {
  auto* const from = static_cast<const std::byte*>(inside_);
  return {from, static_cast<std::size_t>(stack_->bytes + kBytes - from)};
}

}  // namespace suimon::model
