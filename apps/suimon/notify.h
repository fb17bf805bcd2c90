// Tells the service manager how the daemon is: the protocol of sd_notify(3), a datagram to the
// socket that NOTIFY_SOCKET names. Without that variable, or with nobody behind it, nothing
// happens.
//
// From the thread that handles signals; never blocks.
#pragma once

namespace suimon::app {

void notify_ready();
void notify_stopping();

// Reloading while it lives, and ready again after it.
class NotifyReload {
 public:
  NotifyReload();
  ~NotifyReload() { notify_ready(); }
  NotifyReload(const NotifyReload&) = delete;
  NotifyReload& operator=(const NotifyReload&) = delete;
};

}  // namespace suimon::app
