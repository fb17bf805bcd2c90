#include "apps/suimon/signals.h"

#include <sys/signalfd.h>

namespace suimon::app {

Signals::Signals(net::Loop& loop, std::initializer_list<int> numbers,
                 std::function<void(int)> arrived)
    : loop_(loop), arrived_(std::move(arrived)) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  fd_ = net::Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (fd_ && !loop_.watch(fd_.get(), EPOLLIN, this)) fd_.reset();
}

Signals::~Signals() {
  if (fd_) loop_.unwatch(fd_.get(), this);
}

void Signals::on_ready(std::uint32_t) {
  signalfd_siginfo signal{};
  // Each pending signal stands there once, so this ends.
  while (::read(fd_.get(), &signal, sizeof signal) == sizeof signal) {
    arrived_(static_cast<int>(signal.ssi_signo));
  }
}

}  // namespace suimon::app
